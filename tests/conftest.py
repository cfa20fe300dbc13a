"""What user-level tests share: the binary under test, and labs of real hosts to use it on."""
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.bare_root import make_bare_root
from tests.schemas import described
from tests.waiting import given_time, patient

ROOT = Path(__file__).resolve().parent.parent

# The tests write files that a different user reads on lab hosts.
os.umask(0o022)

# Background jobs of a script ignore SIGINT, and nohup makes programs ignore SIGHUP. Programs that the tests start would inherit
# that.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


# The id of this run of pytest. Its first process sets it for all workers (pytest -n).
RUN = os.environ.setdefault("MUSTER_TEST_RUN", uuid.uuid4().hex[:12])
SHARED = Path("/opt") / f"muster-tests-{RUN}"  # visible to lab hosts


@contextmanager
def locked(name: str, how=fcntl.LOCK_EX, within=3000):
    with (Path(tempfile.gettempdir()) / f"muster-tests-{RUN}.{name}").open("a") as file:
        end = time.monotonic() + within
        while True:
            try:
                fcntl.flock(file, how | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < end, f"another worker holds '{name}' for more than {within} s"
                time.sleep(0.05)
        yield


# Tests that need more than the command muster run last, so that CI can build the rest meanwhile. MUSTER_BUILDING names a folder in
# which CI creates the file `done` or `failed` when the build has ended.
NEED_THE_WHOLE_BUILD = ("bench", "docs/test_training_pages.py", "mpi", "python", "run/test_ipv6.py", "torch", "train")


def needs_the_whole_build(item) -> bool:
    return any(item.path.is_relative_to(ROOT / "tests" / one) for one in NEED_THE_WHOLE_BUILD)


def pytest_collection_modifyitems(items):
    items.sort(key=needs_the_whole_build)  # a stable sort, so the order does not change otherwise


NOT_BUILT = pytest.StashKey[bool]()


def wait_for_the_build(folder: Path, within=3000) -> bool:
    end = time.monotonic() + within
    while not (folder / "done").exists():
        if (folder / "failed").exists() or time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True


def pytest_runtest_setup(item):
    if item.stash.get(NOT_BUILT, False):
        item.session.shouldfail = "what these tests need could not be built; the log of the build says why"
        pytest.fail(item.session.shouldfail, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """With several workers (pytest -n), a test marked `alone` runs while no other test does."""
    if "MUSTER_BUILDING" in os.environ and needs_the_whole_build(item):
        item.stash[NOT_BUILT] = not wait_for_the_build(Path(os.environ["MUSTER_BUILDING"]))  # before the test's own time limit starts
    if not hasattr(item.config, "workerinput"):
        return (yield)
    # Every test passes through the door. One that must be alone keeps it locked until the running tests have ended, so that no
    # other test starts meanwhile.
    with locked("door"):
        entered = locked("room", fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        entered.__enter__()
    try:
        return (yield)
    finally:
        entered.__exit__(None, None, None)


@pytest.hookimpl(trylast=True)  # runs after the workers have ended
def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        shutil.rmtree(SHARED, ignore_errors=True)
        for file in Path(tempfile.gettempdir()).glob(f"muster-tests-{RUN}.*"):
            file.unlink()
        if is_sanitized(Path(os.environ.get("MUSTER", "/"))):
            shutil.rmtree(SANITIZER_LOGS, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_folder():
    """A folder that every lab host and every worker of this run sees. Labs must start after it exists."""
    SHARED.mkdir(mode=0o755, exist_ok=True)
    return SHARED


def made_once(folder: Path, make) -> Path:
    """Returns the folder, which make(folder) fills in the first worker of this run that asks."""
    with locked(folder.name):
        if not (folder / ".complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o755)
            make(folder)
            subprocess.run(["chmod", "-R", "a+rX", folder], check=True)  # ranks on lab hosts run as another user
            (folder / ".complete").touch()
    return folder


@pytest.fixture(scope="session")
def muster_on_hosts(muster, shared_folder) -> Path:
    """A copy of the binary that lab hosts can see. Labs must start after it exists."""
    return made_once(shared_folder / "binary", lambda folder: shutil.copy(muster, folder)) / muster.name


@pytest.fixture(scope="session")
def bare_root(shared_folder) -> Path:
    """A minimal Debian with sshd and Python: $MUSTER_BARE_ROOT, else made from this machine's packages."""
    named = os.environ.get("MUSTER_BARE_ROOT")
    return Path(named) if named else made_once(shared_folder / "bare-root", make_bare_root)


@pytest.fixture(scope="session")
def root() -> Path:
    """The source tree."""
    return ROOT


@pytest.fixture(scope="session")
def muster() -> Path:
    """The binary: $MUSTER, else the release build's, else the dev build's."""
    named = os.environ.get("MUSTER")
    candidates = [Path(named)] if named else [ROOT / "build" / p / "bin/muster" for p in ("release", "dev")]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return candidate.resolve()
    looked = ", ".join(map(str, candidates))
    pytest.fail(f"no muster binary ({looked}); build it: cmake --workflow --preset release", pytrace=False)


def is_release(muster: Path) -> bool:
    cache = muster.parent.parent / "CMakeCache.txt"
    return not cache.is_file() or "CMAKE_BUILD_TYPE:STRING=Release" in cache.read_text()


def is_sanitized(muster: Path) -> bool:
    cache = muster.parent.parent / "CMakeCache.txt"
    return cache.is_file() and "MUSTER_SANITIZE:BOOL=ON" in cache.read_text()


# The folder where a muster built with sanitisers writes their reports. src/cli/CMakeLists.txt contains the same path.
SANITIZER_LOGS = Path("/opt/muster-tests-sanitizers")


def take_sanitizer_logs() -> str:
    """Returns and removes the sanitisers' reports since the last call."""
    text = ""
    for file in sorted(SANITIZER_LOGS.glob("found.*")):
        text += file.read_text(errors="replace")
        file.unlink(missing_ok=True)
    return text


@pytest.fixture(scope="session")
def sanitizer_logs(muster):
    """Yields the folder for the sanitisers' reports, which lab hosts share, or None if muster is built without sanitisers. It is
    removed when all workers have ended."""
    if not is_sanitized(muster):
        yield None
        return
    SANITIZER_LOGS.mkdir(exist_ok=True)
    SANITIZER_LOGS.chmod(0o1777)  # muster runs as root and as an ordinary user
    yield SANITIZER_LOGS
    found = take_sanitizer_logs()
    assert found == "", f"sanitisers found this at the end of the tests:\n{found}"


@pytest.fixture(autouse=True)
def no_sanitizer_finds_anything(request):
    logs = "muster" in request.fixturenames and request.getfixturevalue("sanitizer_logs")
    yield
    if logs:
        found = take_sanitizer_logs()
        assert found == "", f"sanitisers found this:\n{found}"


class Lab:
    """A running lab. Commands run on its hosts as the ordinary user."""

    def __init__(self, binary: Path, name: str, binary_on_hosts: Path):
        self.binary, self.name, self.binary_on_hosts = binary, name, binary_on_hosts
        status = self.status()
        self.user, self.password, self.uid = status["user"], status["password"], status["uid"]
        self.hosts = [host["name"] for host in status["hosts"] if host["name"] != "launcher"]

    def status(self) -> dict:
        return described("lab-status", json.loads(self.command("status", "--json").stdout))

    def open_doors(self) -> None:
        """Gives the launcher's user a key that every host accepts, and pins the hosts' keys, without `muster setup`."""
        make = "mkdir -pm700 ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519 && cat ~/.ssh/id_ed25519.pub"
        key, pins = self.shell("launcher", make), ""
        for host in self.hosts:
            self.shell(host, "umask 077; mkdir -p ~/.ssh; cat > ~/.ssh/authorized_keys", input=key)
            pins += f"{host} {' '.join(self.shell(host, 'cat /etc/ssh/ssh_host_ed25519_key.pub').split()[:2])}\n"
        self.shell("launcher", "cat > ~/.ssh/known_hosts", input=pins)

    def command(self, verb, *words, check=True, timeout=60):
        """Runs muster lab VERB on this machine."""
        return subprocess.run([self.binary, "lab", verb, "--name", self.name, *words], check=check,
                              capture_output=True, text=True, timeout=patient(timeout))

    def words(self, host, *argv, root=False):
        """Returns the argument list that runs argv on a host's console, for subprocess.Popen."""
        return [str(self.binary), "lab", "exec", "--name", self.name, *(["--root"] if root else []),
                host, "--", *given_time(argv)]

    def exec(self, host, *argv, root=False, input=None, timeout=60, check=False):
        stdin = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run(self.words(host, *argv, root=root), check=check, capture_output=True, text=True,
                              timeout=patient(timeout), **stdin)

    def shell(self, host, script, **options):
        """Runs a line in the host's sh and returns its standard output. The test fails if the line fails."""
        return self.exec(host, "sh", "-c", script, check=True, **options).stdout

    def write(self, host, path, content, mode="644", root=False):
        self.exec(host, "sh", "-c", f"cat > '{path}' && chmod {mode} '{path}'", input=content, root=root, check=True)


def labs(muster, muster_on_hosts, sanitizer_logs):
    """Yields a function that makes labs, and removes them afterwards."""
    names = []

    def up(hosts, **flags):
        if sanitizer_logs:
            shares = flags.get("share", [])
            flags["share"] = [*(shares if isinstance(shares, list) else [shares]), sanitizer_logs]
        name = "t" + uuid.uuid4().hex[:8]
        words = []
        for flag, value in flags.items():
            for one in value if isinstance(value, list) else [value]:
                words += [f"--{flag.replace('_', '-')}", str(one)]
        names.append(name)
        made = subprocess.run([muster, "lab", "up", "--name", name, "--nodes", str(hosts), *words],
                              capture_output=True, text=True, timeout=patient(60))
        assert made.returncode == 0, made.stderr
        return Lab(muster, name, muster_on_hosts)

    yield up
    gone = [subprocess.run([muster, "lab", "down", "--name", name], capture_output=True, text=True, timeout=patient(60)) for name in names]
    assert [down.stderr for down in gone if down.returncode] == []


@pytest.fixture
def lab_up(muster, muster_on_hosts, sanitizer_logs):
    """lab_up(hosts=3, nics=2, share=[...]) makes a Lab that is removed after the test."""
    yield from labs(muster, muster_on_hosts, sanitizer_logs)


@pytest.fixture(scope="module")
def module_lab_up(muster, muster_on_hosts, sanitizer_logs):
    """Like lab_up, for a lab that all tests of a file share."""
    yield from labs(muster, muster_on_hosts, sanitizer_logs)
