"""A program with libmuster reports its collectives on a socket, for `muster why`."""
import os
import signal
import subprocess

from comparisons.comparison import OWN_NETWORK
from tests.recorders import collectives
from tests.run.launchers import MPI
from tests.torch.conftest import clean_environment
from tests.waiting import patient, until


def held(words, folder, handler):
    """Starts two ranks that make two groups, use each once, and hold them. Returns the ranks'
    reports, and ends the ranks."""
    folder.mkdir(mode=0o700)
    job = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                           env={**clean_environment(), "MUSTER_RECORDERS": str(folder)})
    try:
        until("both ranks hold their groups", lambda: job.poll() is not None or sum("over" in job.stdout.readline() for _ in range(2)) == 2, 60)
        return collectives(folder, handler)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate(timeout=patient(10))


def test_operations_over_mpi(build, tmp_path):
    probe = build / "tests/torch/job_probe"
    words = [*OWN_NETWORK, MPI["openmpi5"] / "bin/mpirun", "--allow-run-as-root", "--bind-to", "none", "-n", "2", probe, "group", "mpi", 20_000, "hold"]
    assert held(words, tmp_path / "records", "muster_operations") == [{f"muster/{group}": [(1, "mpi:all_reduce", True)] for group in (0, 1)}] * 2


def test_operations_over_gloo(build, ranks, tmp_path):
    probe = build / "tests/torch/job_probe"
    folder = tmp_path / "records"
    folder.mkdir(mode=0o700)
    job = ranks([probe, "group", "gloo", 20_000, "hold"], 2, MUSTER_RECORDERS=str(folder))
    try:
        for process in job.processes:
            assert "over gloo" in process.stdout.readline()
        # PyTorch records the end of an operation a moment after the program sees it.
        until("PyTorch has recorded all ends", lambda: all(done for groups in collectives(folder, "fr_trace_json") for group in groups.values() for _, _, done in group), 10)
        told = collectives(folder, "fr_trace_json")
    finally:
        for process in job.processes:
            process.kill()
        job.end()
    assert len(told) == 2
    for groups in told:
        assert [groups[f"muster/{group}"][-1][1:] for group in (0, 1)] == [("gloo:all_reduce", True)] * 2


def test_the_end_of_a_program_ends_the_server(build, ranks, tmp_path):
    """The server leaves no socket behind, and none of its messages appears in the program's output."""
    ends = ranks([build / "tests/torch/job_probe", "group", "gloo", 20_000], 2, MUSTER_RECORDERS=str(tmp_path)).end()  # pytest makes the folder private
    assert [(code, said) for (_, said), code in ends] == [(0, "")] * 2
    assert list(tmp_path.iterdir()) == []
