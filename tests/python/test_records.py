"""Ranks report their collectives on sockets, for `muster why`."""
import json
import stat
import subprocess

import pytest
from tests.mpi.mpis import MPIS, Watched
from tests.recorders import ask, collectives
from tests.waiting import patient, until

pytestmark = pytest.mark.lab
OPENMPI5 = MPIS[0]


def test_ranks_tell_which_collective_they_wait_in(host, python, scripts):
    folder = host.shared / "records"
    recorders = folder / ("r" * 120)  # longer than a socket's path may be
    host.shell("n1", f"mkdir -m 755 {folder} && mkdir -m 700 {recorders}")
    job = Watched(OPENMPI5.command(host, 2, [python, "-W", "ignore", scripts / "programs/records.py", "late", folder], {"MUSTER_RECORDERS": recorders}))
    try:
        until("both ranks are where they wait", lambda: len(job.times("ready")) == 2 or job.process.poll() is not None, within=60)
        assert len(list(recorders.iterdir())) == 2, job.said()
        done = [(1, "gloo:all_reduce", True), (2, "gloo:all_reduce", True)]
        # PyTorch records the end of an operation a moment after the program sees it.
        until("PyTorch has recorded both ends", lambda: sum(ended for groups in collectives(recorders, "fr_trace_json") for _, _, ended in groups["0"]) == 4, within=10)
        assert [groups["0"] for groups in collectives(recorders, "fr_trace_json")] == [done, [*done, (3, "gloo:all_reduce", False)]]
        first = (1, "mpi:broadcast", True)
        over_mpi = collectives(recorders, "muster_operations")
        assert [list(groups.values()) for groups in over_mpi] == [[[first]], [[first, (2, "mpi:all_reduce", False)]]]
        assert [list(groups.values()) for groups in collectives(recorders, "muster_operations?onlyactive=true")] == [[], [[(2, "mpi:all_reduce", False)]]]
        (name,) = {name for groups in over_mpi for name in groups}
        for one in recorders.iterdir():
            record = json.loads(ask(recorders, one.name, "muster_operations"))
            assert record["pg_config"] == {name: {"desc": "fast", "name": name, "ranks": "[0, 1]"}}
            assert record["entries"][0]["input_sizes"] == [[2, 3]] and record["entries"][0]["input_dtypes"] == ["Float"]
            assert "records.py" in ask(recorders, one.name, "dump_traceback")
        assert stat.S_IMODE(recorders.stat().st_mode) == 0o700  # no other user can reach the sockets
        (folder / "go").touch()
        # mpirun itself may hang after its ranks have ended (openpmix/prrte#1839).
        until("both ranks end", lambda: not job.reader.is_alive() or (len(job.times("good")) == 2 and not list(recorders.iterdir())), within=60)
        assert len(job.times("good")) == 2 and job.process.poll() in (None, 0), job.said()
        assert "WorkerServer" not in job.said()
        assert list(recorders.iterdir()) == []
    finally:
        job.end()


def test_a_process_has_one_server_in_a_folder_of_its_own(python, scripts, tmp_path):
    done = subprocess.run([python, "-W", "ignore", scripts / "programs/records.py", "once", tmp_path], capture_output=True, text=True, timeout=patient(60))
    assert (done.returncode, done.stdout, done.stderr) == (3, "good\n", "")
    assert [list(folder.iterdir()) for folder in tmp_path.iterdir()] == [[], []]
