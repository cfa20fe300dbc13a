"""The code blocks of the pages about muster's commands, taken from their text: the commands must do what the pages say, and muster must
print what they show."""
import json
import os
import re
import shlex
import subprocess

import pytest
from tests.docs.pages import ROOT, take, with_other
from tests.docs.terminal import Terminal
from tests.on_terminal import on_terminal
from tests.run.conftest import Cluster
from tests.run.launchers import DEPS, MPI, SYSTEM_PATH
from tests.waiting import patient, until

pytestmark = pytest.mark.lab

(CHECK,) = take("docs/check.md", "muster check -H 'node[01-16]:4' ")
SAVE, _, *CHANGED = take("docs/check.md", "muster check -H 'node[01-16]' --save")
FINDINGS = take("docs/check.md", "ERROR ")
BUNDLE = take("docs/containers.md", "muster setup --bundle bundle ")
(CONTAINERS,) = take("docs/containers.md", "COMMAND=")
DESCRIBED = take("docs/config.md", "hosts: ")
CONFIGURE, BUILD = take("docs/dependencies.md", "cmake -B build")
(TORCHRUN,) = take("docs/engines.md", "muster run --engine torchrun ")
(CONFINED,) = take("docs/engines.md", "muster run --confine-store ")
(POD,) = take("docs/engines.md", "muster run --nproc-per-node 8 ")
EXEC, *EXEC_SAYS = take("docs/exec-sync.md", "$ muster exec -H n[1-3] uname ")
LIMIT, *LIMIT_SAYS = take("docs/exec-sync.md", "$ muster exec -H n[1-3] --timeout ")
SHELL, TERMINAL, TYPED = take("docs/exec-sync.md", "muster exec -i ")
EXEC_FAILS = take("docs/exec-sync.md", "muster: 2 of 4 hosts failed")
SYNC = take("docs/exec-sync.md", "$ muster sync -H n[1-3] ~/job")
BACK, *BACK_SAYS = take("docs/exec-sync.md", "$ muster sync -H n[1-3] --back ")
FACTS, FACTS_JSON, FACTS_OF_HOSTS = take("docs/facts.md", "muster facts")
HABITS = take("docs/habits.md", "$ muster run ")
EXPRESSION, HOST_FILE, CONFIGURATION = take("docs/hosts.md", "muster hosts -H ")
MIXED = take("docs/hosts.md", "muster: hosts.txt:3:3: ")
YAML = take("docs/hosts.md", "hosts: ")
LOST = take("README.md", "muster: host node2 was lost ")
(RUN,) = take("docs/run.md", "muster run -H n[1-3] --nproc-per-node 2 ")
RUN_SAYS = take("docs/run.md", "muster: run ")
(RUN_HERE,) = take("docs/run.md", "muster run -n 2 ")
(RUN_SYNC,) = take("docs/run.md", "muster run -H n[1-2] --sync ")
SYNC_SAYS = take("docs/run.md", "muster: sync: n[1-2] ")
SYNC_KEEPS = take("docs/run.md", "muster: sync: n1: ")
(RESTARTS,) = take("docs/run.md", "muster run -H n[1-16] ")
RESTART_SAYS = take("docs/run.md", "muster: attempt 1 of 6: ")
(AGAIN,) = take("docs/run.md", "muster run --again")
SETUP, SETUP_KEY, SETUP_FILES, SETUP_MESH, SETUP_UNDO = take("docs/setup.md", "muster setup -H ")
BY_HAND = take("docs/setup.md", "ssh -o BatchMode=yes ")

IMAGE = re.search(r"--image (\S+)", " ".join(BUNDLE))[1]
OPEN_MPI = f"PATH={MPI['openmpi5']}/bin:{SYSTEM_PATH}"
RUN_ID = r"\d{8}-\d{6}-[0-9a-f]+"
VERSION = r"\d+\.\d+\.\d+(?=,)"
# The output of train.py and train. On hosts with the file /tmp/wait, ranks that have not been restarted do not end.
PROGRAM = "rank {rank} of {size}, restart {restart}, words {words}"
SCRIPT = f"""\
import os, sys, time
restart = os.environ["TORCHELASTIC_RESTART_COUNT"]
print("{PROGRAM}".format(rank=os.environ["RANK"], size=os.environ["WORLD_SIZE"], restart=restart, words=sys.argv[1:]))
while os.path.exists("/tmp/wait") and restart == "0": time.sleep(0.1)
"""


def said_by(ranks, size, words=(), restart=0):
    """Returns the script's output with muster's labels. `ranks` lists the hosts in rank order."""
    return sorted(f"[{host}:{rank}] " + PROGRAM.format(rank=rank, size=size, restart=restart, words=list(words)) for rank, host in enumerate(ranks))


def pattern_of(lines, *differ):
    """Returns a pattern for text like these lines. Parts that match a pattern in `differ` may have other values."""
    text, made, end = "\n".join(lines), "", 0
    for one in differ:
        assert re.search(one, text), f"'{one}' is not in:\n{text}"
    for found in re.finditer("|".join(f"(?:{one})" for one in differ), text):
        made += re.escape(text[end:found.start()]) + next(one for one in differ if re.compile(one).match(text, found.start()))
        end = found.end()
    return made + re.escape(text[end:])


class Reader(Cluster):
    """Types the commands of the pages on the launcher, in ~/job. Open MPI 5 is in PATH."""

    def __init__(self, lab):
        self.home = f"/home/{lab.user}"
        super().__init__(lab)

    def setup(self):
        """Lets the launcher log in with a key, which is much faster than `muster setup` with a password. Only the test of setup.md does that."""
        self.lab.open_doors()
        self.lab.shell("launcher", "sed 's/^n/node/' ~/.ssh/known_hosts > more; cat more >> ~/.ssh/known_hosts; rm more")

    def make_job(self):
        """Makes ~/job with only train.py and train, on the launcher and the hosts."""
        files = "cat > train.py; (echo '#!/usr/bin/python3'; cat train.py) > train; chmod +x train"
        self.lab.shell("launcher", f"rm -rf ~/job; mkdir ~/job; cd ~/job; {files}", input=SCRIPT)
        self.follow("muster sync -H n[1-4] --delete ~/job")

    def begin(self, line, path=OPEN_MPI):
        words = [re.sub(r"^~(?=/)", self.home, word) for word in shlex.split(line.removeprefix("$ "))]  # expanded as a shell does
        return self.launch(["env", "-C", f"{self.home}/job", path, *words])

    def follow(self, line, code=0, **options):
        run = self.begin(line, **options)
        assert run.end(60) == code, run.said()
        return run


@pytest.fixture(scope="module")
def reader(module_lab_up):
    """Four hosts that also have the names used on the pages, PyTorch in ~/venv, and train.py and train in ~/job."""
    lab = module_lab_up(hosts=4)
    address = {host["name"]: host["addresses"][0] for host in lab.status()["hosts"]}
    names = "".join(f"{address[f'n{i}']} node{i} worker{i}\n" for i in range(1, 5))
    for host in ("launcher", *lab.hosts):
        lab.shell(host, "cat >> /etc/hosts; test -e /usr/bin/python || ln -s python3 /usr/bin/python", root=True, input=names)
        lab.shell(host, f"ln -s {DEPS}/torch ~/venv")
    reader = Reader(lab)
    reader.make_job()
    return reader


@pytest.fixture
def folder(muster, tmp_path):
    """Returns folder(line), which runs the line in a folder that is empty at first."""

    def run(line, code=0):
        words = shlex.split(line)
        assert words.pop(0) == "muster"
        done = subprocess.run([muster, *words], cwd=tmp_path, capture_output=True, text=True, timeout=patient(30))
        assert done.returncode == code, done
        return done

    return run


# check.md

def test_check(reader):
    said = reader.follow(with_other(CHECK, r"node\[01-16\]", "node[1-2]")).said()
    assert "2 of 2 hosts answered" in said and "8 ranks" in said and "ERROR" not in said, said


def test_findings(reader):
    """`muster check` reports, as on the page, a process that listens on the master port and two hosts whose names resolve to a loopback address."""
    lab = reader.lab
    listen = "import socket, time; s = socket.create_server(('0.0.0.0', 29500)); open('/tmp/listens', 'w').close(); time.sleep(1000)"
    lab.shell("n1", "mkdir /tmp/old; cd /tmp/old; cat > train.py; setsid python train.py --epochs 10 >/dev/null 2>&1 < /dev/null &", input=listen)
    lab.command("break", "n[2-3]", "loopback-name")
    try:
        until("n1 listens", lambda: lab.exec("n1", "test", "-e", "/tmp/listens").returncode == 0, 10)
        run = reader.follow("muster check -H n[1-3] --master-port 29500", code=123)
        assert re.search(pattern_of(FINDINGS, r"(?<=process )\d+", r"(?<=kill )\d+"), "\n".join(run.out)), run.said()
    finally:
        lab.shell("n1", "pkill -f '[t]rain.py --epochs 10'; rm -rf /tmp/old /tmp/listens")
        for host in ("n2", "n3"):
            lab.shell(host, "sed 1d /etc/hosts > /tmp/hosts; cat /tmp/hosts > /etc/hosts; rm /tmp/hosts", root=True)


def test_a_saved_state(reader):
    """A host has lost memory since its state was saved, and muster reports it as on the page."""
    def memory(gib):
        reader.lab.shell("n3", f"umount /proc/meminfo 2>/dev/null; sed '/^MemTotal/ s/[0-9]* kB/{gib << 20} kB/' /proc/meminfo > /run/meminfo; "
                               "mount --bind /run/meminfo /proc/meminfo", root=True)

    memory(503)
    try:
        said = reader.follow(with_other(SAVE, r"node\[01-16\]", "n[1-3]")).errors
        assert "saved the state of n[1-3] in" in said
        memory(252)
        found = "\n".join(reader.follow("muster check -H n[1-3]").out)
    finally:
        reader.lab.shell("n3", "umount /proc/meminfo", root=True)
        reader.lab.shell("launcher", f"rm -r {reader.home}/.local/state/muster/hosts")
    shown = " ".join("\n".join(CHANGED).replace("node03", "n3").split())
    assert re.search(pattern_of([shown], r"\d{4}-\d{2}-\d{2}"), " ".join(found.split())), found


# config.md; test_config_page.py covers the rest of the page

def test_a_described_job(reader):
    """Uses the lab's hosts, and a profile for hosts without GPUs, since the lab has none."""
    text = "\n".join(DESCRIBED)
    for given, ours in ((r"node\[01-16\]:4", "n[1-3]"), (r"node\[01-02\]", "n[1-2]"), ("(?<=user: )dev", reader.lab.user)):
        text = with_other(text, given, ours)
    reader.lab.write("launcher", f"{reader.home}/job/muster.yaml", text)
    try:
        run = reader.follow("WANDB_API_KEY=x muster run -P small --engine openmpi sh -c 'echo $VIRTUAL_ENV $WANDB_PROJECT $WANDB_API_KEY $NCCL_DEBUG'")
        assert sorted(run.out) == [f"[n{i + 1}:{i}] {DEPS}/torch vision x INFO" for i in range(2)], run.said()
        assert "muster: sync: n[1-2] (2 hosts): 1 file " in run.errors, run.said()
    finally:
        reader.make_job()


# containers.md

# Containers on three machines. No container engine runs on lab hosts; tests/docs/test_guide_containers.py uses real containers on one
# machine. This is a replacement for `docker run` that accepts only the options in the bundle's scripts. The container has its own mounts
# but its host's file system, with Intel MPI in PATH.
DOCKER = f"""\
#!/bin/bash
set -euo pipefail
if [[ ${{MOUNTED:-}} != yes ]]; then MOUNTED=yes exec unshare --mount "$0" "$@"; fi
[[ $1 = run ]]; shift
variables=(PATH={MPI["intel"]}/bin:{SYSTEM_PATH} I_MPI_ROOT={MPI["intel"]})
while [[ $1 = -* ]]; do
  case $1 in
    --rm) shift; continue ;;
    --shm-size | --name | --cap-add) ;;
    --network) [[ $2 = host ]] ;;
    --user) user=$2 ;;
    -v)
      IFS=: read -r from to _ <<< "$2"
      if [[ -d $from ]]; then mkdir -p "$to"; elif [[ ! -e $to ]]; then mkdir -p "${{to%/*}}"; : > "$to"; fi
      mount --bind "$from" "$to" ;;
    -w) folder=$2 ;;
    -e) if [[ $2 = *=* ]]; then variables+=("$2"); elif [[ -v $2 ]]; then variables+=("$2=${{!2}}"); fi ;;
    *) echo "docker: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
[[ $1 = {IMAGE} ]]; shift
cd "$folder"
exec setpriv --reuid="${{user%:*}}" --regid="${{user#*:}}" --clear-groups env -i "${{variables[@]}}" "$@"
"""


def test_containers(reader):
    """Two containers with an sshd, and one with Intel MPI, which starts a rank in each."""
    lab, bundle = reader.lab, " ".join(line.removesuffix("\\") for line in BUNDLE)
    script = "import os, socket; print(socket.gethostname(), os.environ['PMI_RANK'], os.getcwd())"
    for host in ("launcher", *lab.hosts):
        lab.shell(host, "mkdir -p /data/job; cat > /data/job/train.py", root=True, input=script)
        lab.write(host, "/usr/local/sbin/docker", DOCKER, mode="755", root=True)
    done = lab.exec("launcher", "sh", "-c", "cd; " + with_other(bundle, "1000:1000", f"{lab.uid}:{lab.uid}"), root=True)
    assert done.returncode == 0 and "Then, for launcher: " in done.stdout, done
    packed = lab.shell("launcher", "cd ~/bundle; tar -cz workers run-worker.sh | base64", root=True)
    try:
        for host, worker in (("n1", "worker1"), ("n2", "worker2")):
            lab.shell(host, "cd; base64 -d | tar -xzp", root=True, input=packed)
            lab.shell(host, f"cd; CONTAINER_ENGINE=docker setsid ./run-worker.sh {worker} > worker.log 2>&1 < /dev/null &", root=True)
        for host in ("n1", "n2"):
            listens = ["grep", "-q", "Server listening on 0.0.0.0 port 12345", "/root/worker.log"]
            until(f"the worker on {host} listens", lambda: lab.exec(host, *listens, root=True).returncode == 0, 20)
        done = lab.exec("launcher", "sh", "-c", f"cd ~/bundle; export CONTAINER_ENGINE=docker; {CONTAINERS}", root=True)
        assert done.returncode == 0, done
        assert sorted(done.stdout.splitlines()) == [f"{host} {rank} /workload" for rank, host in enumerate(("launcher", "n1", "n2"))], done
    finally:
        for host in ("n1", "n2"):
            print(lab.shell(host, "cat ~/worker.log; pkill -f '[s]shd -D -e -f' || true", root=True))


# dependencies.md

def test_build(tmp_path):
    """Builds without PyTorch, and compiles only one file, because campaigns/readme compiles all of them."""
    clone, a_file = tmp_path / "clone", "src/rankenv/CMakeFiles/muster_rankenv.dir/Unity/unity_0_cxx.cxx.o"
    clone.mkdir()
    for path in ROOT.iterdir():
        if path.name not in ("build", ".git"):
            (clone / path.name).symlink_to(path)

    def run(line):
        done = subprocess.run(shlex.split(line), cwd=clone, env={**os.environ, "MUSTER_DEPS": str(tmp_path)}, capture_output=True, text=True,
                              timeout=patient(60))
        assert done.returncode == 0, done
        return done.stdout

    assert "-- Without libmuster" in run(CONFIGURE)
    run(with_other(BUILD, "$", f" --target {a_file}"))
    assert (clone / "build" / a_file).exists()


# engines.md

def test_torchrun(reader):
    run = reader.follow(with_other(TORCHRUN, r"n\[1-3\]", "n[1-2]"))
    assert "4 ranks on n[1-2], torchrun" in run.errors, run.said()
    assert sorted(run.out) == said_by(["n1", "n1", "n2", "n2"], 4), run.said()


def test_confined_store(reader):
    run = reader.follow(with_other(CONFINED, r"n\[1-3\]", "n[1-2]"))
    assert "2 ranks on n[1-2], Open MPI" in run.errors, run.said()
    assert sorted(run.out) == said_by(["n1", "n2"], 2), run.said()


def test_pods(reader):
    """Runs the same command in two pods."""
    lab, line = reader.lab, with_other(POD, "8", "2")
    address = {host["name"]: host["addresses"][0] for host in lab.status()["hosts"]}
    path = f"PATH={DEPS}/torch/bin:{lab.binary_on_hosts.parent}:{SYSTEM_PATH}"
    shared = ["WORLD_SIZE=2", f"MASTER_ADDR={address['n3']}", "MASTER_PORT=29400", path]
    pods = [reader.launch(["env", "-C", f"{reader.home}/job", *shared, f"RANK={i}", *shlex.split(line)], host=host)
            for i, host in enumerate(("n3", "n4"))]
    assert [pod.end(60) for pod in pods] == [0, 0], [pod.said() for pod in pods]
    assert sorted(line for pod in pods for line in pod.out) == said_by(["n3", "n3", "n4", "n4"], 4), [pod.said() for pod in pods]


# exec-sync.md

def test_exec(reader):
    said = reader.follow(EXEC).out
    assert said == [EXEC_SAYS[0], os.uname().release], said
    assert len(EXEC_SAYS) == 2


def listen_on(lab, host, port):
    """Moves the host's sshd to this port."""
    lab.shell(host, f"sed -i 's/^Port .*/Port {port}/' /etc/ssh/sshd_config; kill -HUP $(pgrep -o -x sshd)", root=True)
    expected = {f"0.0.0.0:{port}", f"[::]:{port}"}
    until(f"{host} listens on {port} only", lambda: {line.split()[3] for line in lab.shell(host, "ss -Hltn").splitlines()} == expected, 10)


def test_exec_that_fails(reader):
    """n4's sshd listens on another port."""
    listen_on(reader.lab, "n4", 2222)
    try:
        reader.lab.shell("n4", f"pkill -f '[s]shd: {reader.lab.user}' || true", root=True)  # ends open connections
        run = reader.follow("muster exec -H n[1-4] sh -c 'test $(hostname) != n3 || kill -SEGV $$'", code=4)
        assert run.err[-len(EXEC_FAILS):] == EXEC_FAILS, run.said()
    finally:
        listen_on(reader.lab, "n4", 22)


def test_exec_with_a_time_limit(reader):
    """The script does not end on n2."""
    for host in ("n1", "n2", "n3"):
        reader.lab.write(host, "preprocess.sh", "#!/bin/sh\ntest $(hostname) != n2 || exec sleep 1000\n", mode="755")
    assert reader.follow(with_other(LIMIT, "60", "10"), code=124).err == LIMIT_SAYS


def test_exec_with_a_terminal(reader):
    lab, typed = reader.lab, {"input": "hostname; exit 7\n"}
    shell = lab.exec("launcher", *on_terminal(*shlex.split(SHELL)), **typed)
    assert shell.returncode == 7 and "n2" in shell.stdout.split(), shell
    assert "/dev/pts/" in lab.exec("launcher", *on_terminal(*shlex.split(with_other(TERMINAL, "htop", "tty"))), **typed).stdout
    lab.shell("launcher", f"cd; echo noted > notes; {TYPED}")
    assert lab.shell("n2", "cat ~/notes") == "noted\n"


def test_sync_back(reader):
    """n3 has no results."""
    for host in ("n1", "n2"):
        reader.lab.shell(host, f"mkdir -p ~/job/out/{host}; cd ~/job/out; echo equal > config; echo {host} > {host}/loss")
    try:
        assert reader.follow(BACK).out == BACK_SAYS
        assert reader.lab.shell("launcher", "cd ~/job/results; cat config n1/loss n2/loss") == "equal\nn1\nn2\n"
    finally:
        reader.make_job()


def test_sync(reader):
    """Fills ~/job with as many files, directories and links as the page says."""
    first, again = SYNC[1], SYNC[3]
    files, kilobytes, others = re.fullmatch(r".* (\d+) files \((\d+)\.0 kB\), (\d+) directories or links", first).groups()
    lab, job = reader.lab, shlex.split(SYNC[0])[-1]
    for host in ("launcher", *lab.hosts):
        lab.shell(host, f"rm -r {job}")
    lab.shell("launcher", f"mkdir -p {job}/data; cd {job}; ln -s data latest; head -c {kilobytes}000 /dev/zero > data/one; "
                          + "".join(f": > file{i};" for i in range(1, int(files))))
    try:
        lab.shell("launcher", f"test $(find {job} -type f | wc -l) = {files} && test $(find {job} -mindepth 1 -not -type f | wc -l) = {others}")
        assert reader.follow(SYNC[0]).out == [first]
        assert reader.follow(SYNC[2]).out == [again]
        assert lab.shell("n3", f"cd {job}; ls data; readlink latest").split() == ["one", "data"]
    finally:
        reader.make_job()


# facts.md

def test_facts(reader):
    lab = reader.lab
    said = reader.follow(FACTS).said()
    assert "launcher" in said, said
    launcher = re.search(r"--launcher (\S+)/bin/mpirun", FACTS_JSON)[1]
    lab.shell("launcher", f"mkdir -p $(dirname {launcher}); ln -sn {MPI['openmpi5']} {launcher}", root=True)
    facts = json.loads("\n".join(reader.follow(FACTS_JSON, path=f"PATH={SYSTEM_PATH}").out))
    assert facts["hostname"] == "launcher" and facts["program"]["path"].endswith("/train"), facts
    told = reader.follow(FACTS_OF_HOSTS).out
    assert [line for line in told if line.startswith("---")] == [f"--- n{i} ---" for i in (1, 2, 3)], told
    assert facts["environment"]["seen"]["VIRTUAL_ENV"] and f"{launcher}/bin/mpirun" in [one["launcher"] for one in facts["mpi"]], facts


# habits.md

@pytest.mark.parametrize("line", HABITS)
def test_the_program_begins_after_the_flags(reader, line):
    run = reader.follow(line)
    assert sorted(run.out) == said_by(["n1", "n2"], 2, ["--epochs", "3"]), run.said()


# hosts.md

def test_ways_to_name_hosts(folder, tmp_path):
    assert folder(EXPRESSION).stdout == "launcher,node[01-16]:4\n"
    (tmp_path / "hosts.txt").write_text("node1 slots=4\nnode2 slots=4\n")
    assert folder(HOST_FILE).stdout == "node[1-2]:4\n"
    (tmp_path / "muster.yaml").write_text("\n".join(YAML))
    assert folder(CONFIGURATION).stdout == "node[01-02,04-06,08-16]:4\n"


def test_every_key_of_the_configuration(folder, tmp_path):
    (tmp_path / "muster.yaml").write_text("\n".join(YAML))
    given = json.loads(folder("muster hosts --json").stdout)
    assert (given["user"], given["port"], len(given["hosts"])) == ("dev", 2222, 14), given
    (tmp_path / "hosts.txt").write_text("node[01-16]:4\n")
    (hosts,) = [line for line in YAML if line.startswith("hosts: ")]
    (host_file,) = [line for line in YAML if line.startswith("# hostfile: ")]
    (tmp_path / "muster.yaml").write_text("\n".join([host_file.removeprefix("# "), *[line for line in YAML if line not in (hosts, host_file)]]))
    assert json.loads(folder("muster hosts --json").stdout)["hosts"] == given["hosts"]


def test_a_file_of_two_formats(folder, tmp_path):
    (tmp_path / "hosts.txt").write_text("n1 slots=4\n\nn3:4\n")
    assert folder("muster hosts --hostfile hosts.txt", code=2).stderr.splitlines() == MIXED


# run.md

def test_run(reader):
    run = reader.follow(RUN)
    assert sorted(run.out) == said_by(["n1", "n1", "n2", "n2", "n3", "n3"], 6, ["--epochs", "3"]), run.said()
    assert any(re.fullmatch(pattern_of(RUN_SAYS, RUN_ID, VERSION), line) for line in run.err), run.said()


def test_run_here(reader):
    run = reader.follow(RUN_HERE)
    assert sorted(run.out) == said_by(["localhost"] * 2, 2), run.said()


def test_run_what_was_edited(reader):
    """muster reports the copied bytes as on the page, for which train.py gets the right size. Later it keeps n1's state.pt, which is newer."""
    lab = reader.lab
    size = int(float(re.search(r"\(([\d.]+) kB\)", SYNC_SAYS[0])[1]) * 1000)

    def edit(comment):
        lab.write("launcher", f"{reader.home}/job/train.py", (SCRIPT + f"# {comment}").ljust(size - 1) + "\n")

    try:
        edit("once")
        run = reader.follow(RUN_SYNC)
        assert [line for line in run.err if ": sync: " in line] == SYNC_SAYS, run.said()
        assert sorted(run.out) == said_by(["n1", "n2"], 2, ["--epochs", "3"]), run.said()
        lab.shell("launcher", "cd ~/job; echo ours > state.pt; touch -d '1 hour ago' state.pt")
        lab.shell("n1", "echo theirs > ~/job/state.pt")
        edit("again")
        run = reader.follow(with_other(RUN_SYNC, r"n\[1-2\]", "n1"))
        assert [line for line in run.err if ": sync: " in line] == SYNC_KEEPS, run.said()
        assert lab.shell("n1", "cat ~/job/state.pt") == "theirs\n"
    finally:
        reader.make_job()


def test_when_muster_was_ended(reader):
    for host in ("n1", "n2"):
        reader.lab.shell(host, "touch /tmp/wait")
    try:
        killed = reader.begin("muster run -H n[1-2] train.py")
        killed.wait_for("restart 0", 2)
        killed.signal("KILL")
        killed.end(10)
        again = reader.follow(AGAIN)
        assert sorted(again.out) == said_by(["n1", "n2"], 2, restart=1), again.said()
    finally:
        for host in ("n1", "n2"):
            reader.lab.shell(host, "rm -f /tmp/wait")


# setup.md

@pytest.fixture
def unprepared(lab_up):
    """Three hosts without any setup, which the page calls node01 to node03."""
    lab = lab_up(hosts=3)
    for host in ("launcher", *lab.hosts):
        lab.shell(host, "sed -E 's/\\bn([1-3])\\b/node0\\1/' /etc/hosts > /tmp/names; cat /tmp/names >> /etc/hosts", root=True)
    return lab


@pytest.fixture
def terminal(unprepared):
    terminal = Terminal(unprepared.words("launcher", "bash", "--norc", "-i"), unprepared.password, within=patient(60))
    yield terminal
    terminal.close()


def test_setup(unprepared, terminal):
    """Tests each of the ways to log in, each on a host of its own."""
    lab, home = unprepared, f"/home/{unprepared.user}"
    key = lab.shell("launcher", "mkdir -m700 ~/.ssh; ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/cloud; cat ~/.ssh/cloud.pub")
    lab.shell("n2", "mkdir -m700 ~/.ssh; cat > ~/.ssh/authorized_keys", input=key)
    fingerprints = [lab.shell(host, "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub").split()[1] for host in lab.hosts]
    lab.write("launcher", f"{home}/job/keys.txt", f"node03 {fingerprints[2]}\n")
    lab.write("launcher", f"{home}/job/pw", lab.password + "\n", mode="600")

    def files():
        list_all = "cd; find .ssh -printf '%p %m\n' | sort; cat .ssh/authorized_keys .ssh/config 2>/dev/null || true"
        return {host: lab.shell(host, list_all) for host in ("launcher", *lab.hosts)}

    def setup(line, hosts, questions):
        said = terminal.run(with_other(line, r"node\[01-16\]", hosts))
        assert "can be reached without a password" in said, said
        assert [word for word in ("(yes/no)", "password:") if word in said] == questions, said

    before = files()
    setup(SETUP, "node01", ["(yes/no)", "password:"])
    name, settings, pinned, connection = [terminal.run(line).split("\n", 1)[1] for line in BY_HAND]
    assert name == "n1\n"
    assert {"stricthostkeychecking true", f"userknownhostsfile {home}/.ssh/muster/known_hosts.d/node01"} <= set(settings.splitlines()), settings
    assert fingerprints[0] in pinned, pinned
    assert connection.startswith("Master running"), connection

    setup(SETUP_KEY, "node02", ["(yes/no)"])
    setup(SETUP_FILES, "node03", [])
    setup(SETUP_MESH, "node[01-02]", [])
    assert lab.shell("n1", "ssh -o BatchMode=yes node02 hostname") == "n2\n"
    terminal.run(SETUP_UNDO)
    assert files() == before


# README.md and run.md; last, because muster waits for connections to a crashed host

def test_lost_hosts(reader):
    """The example of run.md, where a spare replaces the lost host, and that of README.md."""
    lab = reader.lab
    for host in lab.hosts:
        lab.shell(host, "touch /tmp/wait")
    try:
        restarted = reader.begin(with_other(RESTARTS, r"-H n\[1-16\] --spares n\[17-18\]", "--lost-after 10 -H n[1-3] --spares n4"))
        restarted.wait_for("restart 0", 3)
        lost = reader.begin("muster run --lost-after 10 -H node[1-2] python train.py")
        lost.wait_for("restart 0", 2)
        lab.command("crash", "n2")
        assert restarted.end(60) == 0, restarted.said()
        first, second = RESTART_SAYS
        assert first in restarted.err, restarted.said()
        assert with_other(second, r"n\[1,3-17\], n17 ", "n[1,3-4], n4 ") in restarted.err, restarted.said()
        assert {*said_by(["n1", "n4", "n3"], 3, restart=1)} <= {*restarted.out}, restarted.said()
        assert lost.end(60) == 125, lost.said()
        assert re.search(pattern_of(LOST, RUN_ID), "\n".join(lost.err)), lost.said()
        assert f"muster logs {lost.id}" in lost.ending, lost.said()
    finally:
        lab.command("restart", "n2")
        for host in lab.hosts:
            lab.shell(host, "rm -f /tmp/wait")
