"""What the user sees: the failed rank's output and the verdict, and no noise from the engine."""
import math
import re
from pathlib import Path

import pytest
from tests.run.launchers import LAUNCHERS

pytestmark = pytest.mark.lab
SOME_IN_CI = [pytest.param(launcher, id=str(launcher), marks=[] if launcher.name in ("openmpi5", "torchrun") else pytest.mark.campaign)
              for launcher in LAUNCHERS if launcher.sees_lost_hosts]


@pytest.fixture(scope="module")
def module_cluster(request, module_lab_up, make_cluster, programs, tmp_path_factory):
    from tests.run.test_outcomes import made_cluster

    launchers = {item.callspec.params["launcher"] for item in request.session.items if item.path == request.path}
    return made_cluster(module_lab_up, make_cluster, programs, tmp_path_factory.mktemp("slurm"), launchers)


def muster_lines(run):
    return [line for line in run.err if line.startswith("muster: ")]


def lines_of_80(run):
    """Returns how many lines the output takes on a terminal with 80 columns."""
    return sum(max(1, math.ceil(len(line) / 80)) for line in [*run.out, *run.err])


@pytest.mark.alone
@pytest.mark.parametrize("launcher", SOME_IN_CI)
def test_one_of_six_ranks_raises(cluster, launcher):
    """The user sees its traceback, the verdict, and the cause: the file and the line are among the last lines on the screen."""
    flags, script = launcher.failing(cluster.programs, "raise")
    run = launcher.start(cluster, [*script[:-1], "3"], *flags, each=2)
    assert run.end(90) == 1, run.said()
    assert [line for line in run.out if not re.fullmatch(r"\[n\d:\d\] up", line)] == [], run.said()
    traceback = [line for line in run.err if line.startswith(("[n2:3] ", "  | "))]
    assert any("Traceback (most recent call last)" in line for line in traceback) and any("ValueError: the loss is not a number" in line for line in traceback), run.said()
    number = 1 + Path(cluster.programs.failing).read_text().splitlines().index('            raise ValueError("the loss is not a number")')
    assert "\n  cause      ValueError: the loss is not a number\n  your code  " in run.ending, run.said()
    assert f"/fail_ddp.py:{number}, in main\n" in run.ending and f"\n  more       muster explain {run.id}\n" in run.ending, run.said()
    others = [line for line in run.err if line not in traceback and not line.startswith("muster: ")]
    assert "\n".join(others) in run.ending, run.said()
    assert len([line for line in muster_lines(run) if "rank 3 on n2 ended with exit code 1" in line]) == 1, run.said()
    assert lines_of_80(run) <= 40, run.said()


@pytest.mark.parametrize("launcher", SOME_IN_CI)
def test_success_is_quiet(cluster, launcher):
    """muster prints one line, and none with -q."""
    loud = launcher.start(cluster, ["sh", "-c", "echo hello"])
    assert loud.end(60) == 0, loud.said()
    assert sorted(loud.out) == [f"[n{i + 1}:{i}] hello" for i in range(3)], loud.said()
    assert len(loud.err) == 1 and re.match(r"muster: run \S+: 3 ranks on n\[1-3\]", loud.err[0]), loud.said()
    quiet = launcher.start(cluster, ["sh", "-c", "echo hello"], "-q")
    assert quiet.end(60) == 0, quiet.said()
    assert sorted(quiet.out) == sorted(loud.out) and quiet.err == [], quiet.said()
