"""Runs inside Slurm allocations, and the ways into one. No host can be reached by ssh."""
import re
import shlex
import subprocess

import pytest
from tests.docs.pages import take
from tests.run.launchers import SYSTEM_PATH
from tests.run.slurm import crashed_as_open_mpi_does
from tests.waiting import until

pytestmark = pytest.mark.lab

TELL = "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR $GLOO_SOCKET_IFNAME $(hostname)"


ALLOCATE, RUN = take("docs/slurm.md", "salloc -N 3 ")
(RUN_ONCE,) = take("docs/slurm.md", "muster run --engine slurm ")
SUBMIT = take("docs/slurm.md", "$ muster submit ")


def labelled(run):
    """Returns each rank's output, sorted: "[host:rank] line"."""
    return sorted(line for line in run.out if line.startswith("["))


def test_ranks_are_where_srun_would_have_them(slurm):
    before = slurm.processes()
    run = slurm.run("--", "sh", "-c", TELL)
    assert run.code == 0, run.said()
    assert labelled(run) == [f"[n{1 + rank // 2}:{rank}] {rank}/6 {rank % 2}/2 198.18.1.1 eth0 n{1 + rank // 2}" for rank in range(6)]
    assert re.search(r"6 ranks on n\[1-3\], Slurm, network 198\.18\.0\.0/16", run.errors), run.said()
    slurm.settles(before, 5)
    assert set(map(tuple, slurm.run_folders().values())) == {()}
    assert slurm.lab.shell("launcher", "ls -A ~/.ssh 2>/dev/null || true") == "", "ssh was used"


@pytest.mark.parametrize("mpi, said", [("openmpi4", "Open MPI over pmix"), ("openmpi5", "Open MPI over pmix"),
                                       ("mpich", "MPICH over pmi2"), ("intel", "Intel MPI over pmi2")])
def test_a_program_of_any_mpi(slurm, engines, mpi, said):
    program = engines[mpi].pi if mpi in engines else slurm.shared / f"pi-{mpi}"
    for _ in range(3):
        run = slurm.run("--", program, within=60)
        if not crashed_as_open_mpi_does(run.code, run.errors):
            break
    assert run.code == 0, run.said()
    assert f"Slurm ({said})" in run.errors
    assert [line for line in labelled(run) if "pi is right" in line] == [
        f"[n{1 + rank // 2}:{rank}] pi is right on rank {rank} of 6" for rank in range(6)], run.said()


def test_hosts_with_unequal_numbers_of_ranks(slurm):
    run = slurm.run("-n", "5", "--", "sh", "-c", TELL)
    assert run.code == 0, run.said()
    assert [line.split()[:3] for line in labelled(run)] == [
        ["[n1:0]", "0/5", "0/2"], ["[n1:1]", "1/5", "1/2"], ["[n2:2]", "2/5", "0/2"], ["[n2:3]", "3/5", "1/2"], ["[n3:4]", "4/5", "0/1"]]


@pytest.mark.parametrize("does, code, how", [("exit 3", 3, r"exit code 3"), ("kill -SEGV $$", 139, r"signal 11 \(Segmentation fault\)")])
def test_a_rank_that_fails_is_named(slurm, does, code, how):
    before = slurm.processes()
    run = slurm.run("--", "sh", "-c", f"ulimit -c 0; [ $RANK = 4 ] || exec sleep 1000; {does}")
    assert run.code == code, run.said()
    assert re.search(rf"muster: rank 4 on n3 ended with {how}", run.errors), run.said()
    slurm.settles(before, 5)


@pytest.mark.parametrize("way", ["salloc", "--engine slurm"])
def test_ctrl_c_leaves_the_ranks_time(slurm, way):
    """Without muster, srun would kill the ranks at once, and salloc would exit with 0."""
    before = slurm.processes()
    words = ["--", "sh", "-c", "trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.1; done"]
    if way == "salloc":
        run = slurm.start(*words)
    else:
        run = slurm.begin(["muster", "run", "--engine", "slurm", "-N", "3", "--nproc-per-node", "2", *words])
    run.wait_for("up", 6)
    if way == "salloc":
        run.signal("INT")
    else:
        slurm.lab.shell("launcher", "kill -INT $(ps -o ppid= -C salloc)")
    assert run.end(10) == 130, run.said()
    assert [line.split()[1] for line in labelled(run)].count("saved") == 6, run.said()
    slurm.settles(before, 5)


@pytest.mark.parametrize("end", ["a killed muster", "scancel"])
def test_nothing_is_left_of(slurm, end):
    """Slurm alone would let ranks that ignore SIGTERM run on for KillWait. In one run it forgot the tasks of a step that was 0.1 s old, and
    only --orphan-after ended them."""
    before = slurm.processes()
    run = slurm.start("--orphan-after", "20", "--", "sh", "-c", "trap '' TERM; setsid sleep 1000 & echo up; while :; do sleep 1; done")
    run.wait_for("up", 6)
    if end == "scancel":
        slurm.lab.shell("launcher", "scancel -u $(id -un)")
    else:
        run.signal("KILL")
    run.end(10)  # the code is salloc's own: 0 if its command was killed
    slurm.settles(before, 10)


def test_hosts_are_asked_for(slurm):
    """Outside an allocation, --engine slurm requests hosts from Slurm. The value of a variable is on no command line. Everything works even
    if muster inherits from its parent that SIGCHLD is ignored."""
    before = slurm.processes()
    script = "echo $RANK/$WORLD_SIZE $GIVEN; [ $RANK = 2 ] || exec sleep 1000; read line < /tmp/go; exit 7"
    slurm.lab.shell("n2", "rm -f /tmp/go; mkfifo /tmp/go")
    run = slurm.begin(["env", "--ignore-signal=CHLD", "muster", "run", "--engine", "slurm", "-N", "2", "--nproc-per-node", "2", "-x", "GIVEN=s3cret", "--", "sh", "-c", script])
    run.wait_for("2/4 s3cret")
    assert "s3cret" not in slurm.lab.shell("launcher", "ps -e -o args")
    slurm.lab.shell("n2", "timeout 60 sh -c 'echo > /tmp/go'")
    assert run.end(20) == 7, run.said()
    slurm.settles(before, 5)


COMMENT = r"""a "b" \c 'd' #e"""


def test_a_batch_job(slurm):
    before = slurm.processes()
    words = ["env", "-C", str(slurm.shared), "./muster", "submit", "-N", "3", "--nproc-per-node=2", "--slurm-arg=--time=5", f"--slurm-arg=--comment={COMMENT}",
             "-x", "GIVEN=it's"]
    program = ["--", "sh", "-c", TELL + "; echo $GIVEN"]
    shown = slurm.lab.exec("launcher", *words, "--dry-run", *program, check=True).stdout
    done = slurm.lab.exec("launcher", *words, *program, check=True)
    job = done.stdout.strip()
    assert f"Comment={COMMENT} " in slurm.lab.shell("launcher", f"scontrol show job {job}") + " "
    assert job.isdigit() and "script sh.sbatch" in done.stderr and f"output sh-{job}.out" in done.stderr, done
    assert (slurm.shared / "sh.sbatch").read_text() == shown
    for line in ("#SBATCH --job-name=sh", "#SBATCH --nodes=3", "#SBATCH --ntasks-per-node=2", "#SBATCH --time=5"):
        assert line in shown.splitlines()
    assert shown.splitlines()[-1].startswith('exec "$muster" run -N 3 --nproc-per-node=2 -x GIVEN -- sh -c ')
    slurm.slurm.wait_over(job)
    said = (slurm.shared / f"sh-{job}.out").read_text()
    for rank in range(6):
        assert f"[n{1 + rank // 2}:{rank}] {rank}/6 {rank % 2}/2 198.18.1.1 eth0 n{1 + rank // 2}\n" in said, said
        assert f"[n{1 + rank // 2}:{rank}] it's\n" in said, said
    slurm.settles(before, 5)


def test_a_job_whose_host_has_no_muster_is_not_reported_as_submitted_well(slurm):
    slurm.lab.shell("launcher", "mkdir -p ~/only-here && cp /usr/local/bin/muster ~/only-here/")
    words = ["env", "-C", str(slurm.shared), f"/home/{slurm.lab.user}/only-here/muster", "submit", "-N", "1", "-o", "lost.sbatch", "--", "true"]
    for _ in range(5):  # a busy Slurm may need longer than muster waits
        done = slurm.lab.exec("launcher", *words)
        slurm.slurm.wait_over(done.stdout.strip())
        if done.returncode != 0:
            break
    assert done.returncode == 125 and done.stdout.strip().isdigit(), done
    assert re.search(r"job \d+ ended at once: its first host, n\d, could not run its command \(exit code 127\)", done.stderr), done.stderr
    assert "only-here/muster must be on that host too" in done.stderr and "is submitted" not in done.stderr


def test_a_job_is_called_after_its_script(muster):
    shown = subprocess.run([muster, "submit", "--dry-run", "--threads", "4", "--", "python3", "src/train.py"], capture_output=True, text=True, check=True).stdout
    assert "#SBATCH --job-name=train\n#SBATCH --output=train-%j.out\n#SBATCH --cpus-per-task=4\n" in shown, shown


def test_a_script_that_is_not_ours_stays(slurm):
    (slurm.shared / "mine.sbatch").write_text("#!/bin/sh\n")
    done = slurm.lab.exec("launcher", "env", "-C", str(slurm.shared), "muster", "submit", "-o", "mine.sbatch", "--", "true")
    assert done.returncode == 2 and "muster submit did not write it" in done.stderr, done
    assert (slurm.shared / "mine.sbatch").read_text() == "#!/bin/sh\n"


@pytest.fixture
def train(slurm):
    """Returns train(line), which runs a line of the page in the shared folder, where muster and ./train are. It asks for 2 ranks per host
    instead of 8, because lab hosts have 2 CPUs, and for the lab's partition."""
    (slurm.shared / "train").write_text('#!/bin/sh\necho "rank $RANK of $WORLD_SIZE: $*"\n')
    (slurm.shared / "train").chmod(0o755)

    def begin(line, **options):
        line, count = re.subn("--nproc-per-node 8", "--nproc-per-node 2", line)
        assert count == 1 or "nproc" not in line
        words = shlex.split(line.replace("--partition=gpu", "--partition=lab"))
        return slurm.begin(["env", "-C", str(slurm.shared), f"PATH={slurm.shared}:{SYSTEM_PATH}", *words], **options)

    return begin


def trained(hosts, words=""):
    return [f"[n{1 + rank // 2}:{rank}] rank {rank} of {2 * hosts}: {words}" for rank in range(2 * hosts)]


def test_the_page_about_slurm(slurm, train):
    """docs/slurm.md: a run in the shell of an allocation, and an allocation for a single run."""
    before = slurm.processes()
    run = train(ALLOCATE, stdin=subprocess.PIPE)
    run.process.stdin.write(RUN.encode() + b"\n")
    run.process.stdin.close()
    assert run.end(60) == 0 and labelled(run) == trained(3, "--epochs 3"), run.said()
    slurm.slurm.wait_idle()  # or the next job could get other hosts
    run = train(RUN_ONCE)
    assert run.end(60) == 0 and labelled(run) == trained(2), run.said()
    slurm.settles(before, 5)


def test_the_page_about_batch_jobs(slurm, train):
    """The output of `muster submit` and the script that it writes are as docs/slurm.md shows them, and the job runs."""
    at = SUBMIT.index("$ cat train.sbatch")
    submitted = train(SUBMIT[0].removeprefix("$ "))
    assert submitted.end(30) == 0, submitted.said()
    (job,) = submitted.out
    assert [*submitted.out, *submitted.err] == [re.sub(rf"\b{SUBMIT[1]}\b", job, line) for line in SUBMIT[1:at - 1]], submitted.said()
    script = "\n".join(SUBMIT[at + 1:]).replace("--ntasks-per-node=8", "--ntasks-per-node=2").replace("--nproc-per-node 8", "--nproc-per-node 2")
    for page, here in (("muster=/home/dev/bin/muster", f"muster={slurm.shared}/muster"), ("other=/home/dev", f"other={slurm.shared.parent}")):
        assert page in script
        script = script.replace(page, here)
    assert (slurm.shared / "train.sbatch").read_text() == script + "\n"
    slurm.slurm.wait_over(job)
    said = (slurm.shared / f"train-{job}.out").read_text()
    assert sorted(line for line in said.splitlines() if line.startswith("[")) == trained(2, "--epochs 3"), said


def test_hosts_outside_of_the_job_are_refused(slurm):
    run = slurm.run("--engine", "slurm", "-H", "n1,n2", "--", "true", allocate=("-N1",))
    assert run.code == 2 and "belong to the Slurm job" in run.errors, run.said()


def test_a_host_that_fails_twice_is_replaced_by_another_of_the_allocation(slurm):
    before = slurm.processes()
    program = 'echo "count $TORCHELASTIC_RESTART_COUNT"; [ $(hostname) = n3 ] && exit $((TORCHELASTIC_RESTART_COUNT + 3)); [ $TORCHELASTIC_RESTART_COUNT = 2 ] || exec sleep 1000'
    run = slurm.run("-H", "n2,n3", "--spares", "n1", "--nproc-per-node", "1", "--max-restarts", "3", "--", "sh", "-c", program, within=60)
    assert run.code == 0, run.said()
    assert "n1 instead of n3 (the first rank to fail was on this host twice in a row)" in run.errors, run.said()
    assert sorted(line for line in run.out if "count 2" in line) == ["[n1:0] count 2", "[n2:1] count 2"], run.said()
    slurm.settles(before, 10)


def test_sync_finds_the_folder_shared_and_elsewhere_sends_nothing(slurm):
    run = slurm.run("--sync", "-N2", "--", "true")
    assert run.code == 0 and "muster: sync: n[1-2] (2 hosts): same directory as on this machine; nothing copied" in run.errors, run.said()
    folder = f"/home/{slurm.lab.user}/project"
    slurm.lab.shell("launcher", f"mkdir -p {folder}")
    run = slurm.begin(["env", "-C", folder, "salloc", "-Q", "-N2", "muster", "run", "--sync", "true"])
    assert run.end(30) == 123 and "this directory is not shared with the host, and muster cannot copy files" in run.errors, run.said()


def test_a_crashed_host(slurm):
    """This test must be the last one, because n2 would come back without Slurm."""
    run = slurm.start("--lost-after", "10", "--", "sh", "-c", "echo up; exec sleep 1000")
    run.wait_for("up", 6)
    slurm.lab.command("crash", "n2")
    assert run.end(25) == 125, run.said()
    assert re.search(r"muster: (host )?n2 ", run.errors), run.said()
    until("nothing of the run is left", lambda: not [one for one in slurm.processes() if re.search("sleep|muster|srun|salloc", one[2])], 10)
