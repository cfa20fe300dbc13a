"""The kernel really kills a rank because memory ran out, in a control group of this machine."""
import os
import re
import subprocess
import uuid
from pathlib import Path

import pytest
from tests.run.launchers import DEPS
from tests.waiting import patient

LIMITS = {"memory": "memory.limit_in_bytes", ".": "memory.max"}  # for versions 1 and 2 of control groups


@pytest.fixture
def small_group():
    """A file; a process that writes its pid there joins a control group that may use 100 MB."""
    for folder, limit in LIMITS.items():
        group = Path("/sys/fs/cgroup", folder, f"muster-test-{uuid.uuid4().hex[:8]}")
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text("100000000")
            yield group / "cgroup.procs"
            return
        except OSError:
            continue
        finally:
            group.rmdir()
    pytest.skip("this machine has no control group for memory that we may use")


@pytest.mark.alone  # the kernel counts memory kills of the whole machine, so another test that kills a rank could be counted
def test_memory_that_ran_out_is_the_reason(muster, small_group, tmp_path):
    program = (f'if [ $RANK = 1 ]; then until [ -e {tmp_path}/up ]; do sleep 0.1; done; echo $$ > {small_group}; '
               f'exec python3 -c "x = bytearray(10 ** 9)"; fi; touch {tmp_path}/up; exec sleep 100')
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{DEPS}/mpich/bin:{os.environ['PATH']}"}
    ended = subprocess.run([muster, "run", "-n", "2", "--engine", "mpich", "--", "sh", "-c", program], env=environment, capture_output=True, text=True,
                           timeout=patient(60))
    assert ended.returncode == 137, ended
    lines = ended.stderr.splitlines()
    begin = lines.index("muster: rank 1 on localhost ended with signal 9 (Killed): the kernel killed it")
    ending = lines[begin:]
    assert ending[1] == "        because memory ran out; 1 rank of 2 failed after it", ended.stderr
    assert len(ending) <= 12 and all(len(line) <= 80 for line in ending), ended.stderr
    # The kernel's log, which not every user may read, shows which limit was exceeded.
    assert re.search(r"\n  (cause|maybe)      .*\[(rank-memory-ran-out|cgroup-oom-kill|host-oom-kill)\]\n", ended.stderr, re.S), ended.stderr
