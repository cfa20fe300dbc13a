"""Every code block of README.md and docs/ is run by a test."""
import importlib
from pathlib import Path

from tests.docs import pages

MOST_MARKS = 10
ELSEWHERE = ("tests.cli.test_explain", "tests.emit.test_terraform", "tests.packages.test_packages", "tests.remote.test_spread", "tests.run.test_daily_session", "tests.run.test_explain", "tests.run.test_gpus", "tests.run.test_slurm", "tests.run.test_why")  # test files of other folders that take blocks too


def test_every_block_is_run_or_says_why_not():
    for name in (*[f"tests.docs.{path.stem}" for path in Path(__file__).parent.glob("test_*.py")], *ELSEWHERE):
        importlib.import_module(name)  # the import takes the module's blocks
    marked = {block.name: block.reason for block in pages.BLOCKS if block.reason}
    for name, reason in marked.items():
        print(f"not run: {name} ({reason})")
    assert len({block.name for block in pages.BLOCKS}) == len(pages.BLOCKS)
    assert sorted(pages.taken | marked.keys()) == sorted(block.name for block in pages.BLOCKS)
    assert not pages.taken & marked.keys()
    assert len(marked) <= MOST_MARKS
