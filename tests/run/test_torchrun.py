"""Features of torchrun, and what it leaves to muster: one torchrun on every host."""
import pytest

pytestmark = pytest.mark.lab

ACTIVATE = ["--engine", "torchrun", "--activate", "source /opt/muster-deps/torch/bin/activate"]


def test_restarts_of_an_elastic_job_are_torchruns_own(cluster):
    """A rank that fails once makes torchrun restart all ranks, and the run succeeds. Without MIN:MAX, muster would restart them
    (test_restart.py)."""
    for host in cluster.lab.hosts:
        cluster.lab.shell(host, "rm -f /tmp/go; mkfifo /tmp/go")
    fails_once = ('if mkdir /tmp/tried; then echo first; [ $RANK = 1 ] && read line < /tmp/go && exit 3; exec sleep 1000; fi; '
                  'rmdir /tmp/tried; echo again')
    done = cluster.start(None, *ACTIVATE, "-N", "2:3", "--max-restarts", "2", "--", "sh", "-c", fails_once)
    done.wait_for("first", 3, within=60)
    cluster.lab.shell("n2", "timeout 60 sh -c 'echo > /tmp/go'")
    assert done.end(60) == 0, done.said()
    assert {f"[n{i + 1}:{i}] {word}" for i in range(3) for word in ("first", "again")} <= set(done.out), done.said()
    assert "starting again" not in done.errors, done.said()


def test_variables_input_and_numbers(cluster, tmp_path):
    """Values reach the ranks and are on no command line; standard input goes to rank 0; hosts are numbered in the given order."""
    given = tmp_path / "input"
    given.write_text("hello\n")
    program = 'read line; echo "$RANK got <$line> and $SECRET"; grep -lsa hus[h]-hush /proc/[0-9]*/cmdline; true'
    with given.open() as stdin:
        done = cluster.run(None, *ACTIVATE, "--nproc-per-node", "2", "-x", "SECRET=hush-hush", "--", "sh", "-c", program,
                           hosts="n3,n1", stdin=stdin, within=60)
    assert done.code == 0, done.said()
    assert sorted(line for line in done.out if "got" in line) == [
        "[n1:2] 2 got <> and hush-hush", "[n1:3] 3 got <> and hush-hush",
        "[n3:0] 0 got <hello> and hush-hush", "[n3:1] 1 got <> and hush-hush"]
    assert not [line for line in done.out if "cmdline" in line], done.said()


def test_a_host_without_torch_is_named_before_the_start(cluster):
    refused = cluster.run(None, "--engine", "torchrun", "--", "true")
    assert refused.code == 123
    assert "torchrun is not in PATH on the host" in refused.errors and "--activate" in refused.errors


def test_a_script_that_reads_mpis_variables_gets_an_mpi(cluster):
    """torchrun is installed on every host, but it would not set the rank that the script reads."""
    program = "import os; print('MPI says', os.environ['OMPI_COMM_WORLD_RANK'])"
    done = cluster.run(None, "-v", *ACTIVATE[2:], "--", "python", "-c", program, within=60)
    assert done.code == 0, done.said()
    assert {f"[n{i + 1}:{i}] MPI says {i}" for i in range(3)} <= set(done.out), done.said()
    assert "the program mentions MPI (OMPI_COMM_WORLD_RANK), which torchrun does not start" in done.errors, done.said()


def test_a_connection_that_is_reset_ends_nothing(cluster):
    """The ssh that started torchrun ends with the connection, but the ranks continue."""
    cluster.lab.shell("n2", "rm -f ~/go; mkfifo ~/go")
    run = cluster.start(None, *ACTIVATE, "--", "sh", "-c", "echo up; [ $RANK = 1 ] && read line < ~/go; echo done")
    run.wait_for("up", 3, within=60)
    cluster.lab.shell("n2", "pkill -KILL -f '[s]shd: dev'", root=True)
    run.wait_for("done", 2, within=60)
    cluster.lab.shell("n2", "timeout 60 sh -c 'echo > ~/go'")
    assert run.end(60) == 0, run.said()
    assert sorted(line for line in run.out if "done" in line) == [f"[n{i + 1}:{i}] done" for i in range(3)], run.said()
