"""Tables of results in docs/results, written by the tests that measure them."""
import platform
import os
import time
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "docs/results"


def write_table(name, title, intro, columns, rows):
    """`rows` is {engine: [cell, ...]}."""
    lines = [f"# {title}", "", f"{intro} {time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, Linux {platform.release()}.", "",
             f"| engine | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    lines += [f"| {engine} | {' | '.join(cells)} |" for engine, cells in rows.items()]
    RESULTS.joinpath(name).write_text("\n".join(lines) + "\n")
