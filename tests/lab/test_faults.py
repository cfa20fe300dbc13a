"""Every fault has the described effect, as measured from the other hosts."""
import json
import os
import re
import signal
import statistics
import subprocess

import pytest
from tests.waiting import patient

pytestmark = pytest.mark.lab

# Holds a connection to n2 and prints how it ended: closed (the peer reported it) or silent.
HOLD = """
import socket, sys
connection = socket.create_connection(("n2", 5000), timeout=60)
print("connected", flush=True)
connection.settimeout(float(sys.argv[1]))
try:
    connection.recv(1)
    print("closed")
except TimeoutError:
    print("silent")
except ConnectionResetError:
    print("closed")
"""
SERVE = """
import socket
listener = socket.create_server(("", 5000))
print("listening", flush=True)
listener.accept()[0].recv(1)
"""


def start(lab, host, *argv):
    return subprocess.Popen(lab.words(host, *argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def end_of_connection(lab, fault, wait):
    with start(lab, "n2", "python3", "-c", SERVE) as server:
        assert server.stdout.readline() == "listening\n"
        with start(lab, "n1", "python3", "-c", HOLD, wait) as client:
            assert client.stdout.readline() == "connected\n"
            lab.command(fault, "n2")
            ended, _ = client.communicate(timeout=patient(30))
        server.kill()
    return ended.strip()


def reachable(lab, host="n2"):
    # Makes several tries, because the kernel repeats a lost ARP request only after a second.
    return lab.exec("n1", "ping", "-c1", "-W2", host).returncode == 0 or lab.exec("n1", "ping", "-c3", "-i0.5", "-W1", host).returncode == 0


def test_kill_closes_connections_and_restart_brings_the_host_back(lab_up):
    lab = lab_up(hosts=2)
    lab.shell("n2", "echo kept > ~/file; echo lost > /tmp/file")
    key = lab.shell("n2", "cat /etc/ssh/ssh_host_ed25519_key.pub")
    boot = lab.shell("n2", "cat /proc/sys/kernel/random/boot_id")
    assert end_of_connection(lab, "kill", wait=20) == "closed"
    assert not reachable(lab)
    assert [h["up"] for h in lab.status()["hosts"] if h["name"] == "n2"] == [False]
    down = lab.exec("n2", "true")
    assert down.returncode == 4 and "muster lab restart n2" in down.stderr
    lab.command("restart", "n2")
    assert reachable(lab)
    assert lab.shell("n2", "cat ~/file; ls /tmp") == "kept\n"
    assert lab.shell("n2", "cat /etc/ssh/ssh_host_ed25519_key.pub") == key
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\n", boot) and lab.shell("n2", "cat /proc/sys/kernel/random/boot_id") != boot
    lab.write("launcher", "/tmp/known", "n2 " + key)
    lab.write("launcher", "/tmp/password", lab.password, mode="600")
    login = lab.exec("launcher", "sshpass", "-f", "/tmp/password", "ssh", "-o", "UserKnownHostsFile=/tmp/known",
                     "-o", "StrictHostKeyChecking=yes", "n2", "hostname")
    assert login.stdout == "n2\n", login.stderr


def test_crash_tells_nobody_and_restart_brings_the_host_back(lab_up):
    lab = lab_up(hosts=2, nics=2)
    assert end_of_connection(lab, "crash", wait=3) == "silent"
    assert not reachable(lab)
    lab.command("restart", "n2")
    assert reachable(lab) and reachable(lab, "n2-b")


def test_cut_blackholes_and_mend_restores(lab_up):
    lab = lab_up(hosts=3, nics=2)
    lab.command("cut", "n2")
    assert not reachable(lab) and not reachable(lab, "n2-b")
    assert reachable(lab, "n3")
    assert lab.shell("n2", "cat /sys/class/net/eth0/carrier") == "1\n"  # the host itself notices nothing
    status = {host["name"]: host["connected"] for host in lab.status()["hosts"]}
    assert status == {"launcher": True, "n1": True, "n2": False, "n3": True}
    lab.command("mend", "n2")
    assert reachable(lab) and reachable(lab, "n2-b")


def test_a_connection_survives_a_cut_that_is_mended(lab_up):
    lab = lab_up(hosts=2)
    send_when_told = HOLD.replace("connection.recv(1)", "sys.stdin.readline(); connection.send(b'x'); connection.recv(1)")
    with start(lab, "n2", "python3", "-c", SERVE) as server:
        assert server.stdout.readline() == "listening\n"
        with start(lab, "n1", "python3", "-c", send_when_told, 20) as client:
            assert client.stdout.readline() == "connected\n"
            lab.command("cut", "n2")
            client.stdin.write("now\n")
            client.stdin.flush()
            with pytest.raises(subprocess.TimeoutExpired):
                server.wait(timeout=0.5)  # the byte does not arrive
            lab.command("mend", "n2")
            assert client.communicate(timeout=patient(30))[0] == "closed\n"  # the server received the byte and ended
        assert server.wait(timeout=patient(10)) == 0


def wait_until_listening(lab, host, port):
    lab.shell(host, f"for i in $(seq 1200); do ss -Hltn sport = :{port} | grep -q . && exit 0; sleep 0.05; done; exit 1")


FRAME, PAYLOAD = 1514, 1448  # bytes of a full frame, and of the TCP payload in it


def megabits(lab, *flags, seconds=3):
    """Returns the rate on the link, including frame headers. The median of fifths of a second ignores moments in
    which the machine had no time for the hosts."""
    with start(lab, "n2", "iperf3", "-s", "-1") as server:
        wait_until_listening(lab, "n2", 5201)
        result = lab.exec("n1", "iperf3", "-c", "n2", "-t", str(seconds), "-i", "0.2", "-O", "1", "-J", *flags, check=True)
        server.wait(timeout=patient(20))
    sums = [interval["sum"] for interval in json.loads(result.stdout)["intervals"]]
    return statistics.median(each["bits_per_second"] for each in sums if not each["omitted"]) / 1e6 * FRAME / PAYLOAD


def round_trip_ms(lab, count=100):
    pings = lab.exec("n1", "ping", "-c", count, "-i", "0.03", "n2", root=True)
    return [float(time) for time in re.findall(r"time=([\d.]+)", pings.stdout)]


SHAPES = [["--rate", "200mbit"], ["--rate", "200mbit", "--delay", "2ms"]]
SHAPE_IDS = ["kernel", "wire"]


@pytest.mark.parametrize("shape", SHAPES, ids=SHAPE_IDS)
def test_a_rate_is_a_limit_both_ways_until_it_is_cleared(lab_up, shape):
    """The link is slow both towards n2 and away from it. Only a wrong unit would miss the lower bound."""
    lab = lab_up(hosts=2)
    lab.command("link", "n2", *shape)
    assert lab.status()["hosts"][2]["shaped"]
    for flags in ([], ["-R"]):  # towards n2 and away from it
        assert 10 <= megabits(lab, *flags, seconds=1) <= 300
    lab.command("link", "n2", "--clear")
    assert not lab.status()["hosts"][2]["shaped"]
    assert megabits(lab, seconds=1) > 300


@pytest.mark.campaign
@pytest.mark.alone
@pytest.mark.parametrize("shape", SHAPES, ids=SHAPE_IDS)
def test_rate_is_within_10_percent(lab_up, shape):
    lab = lab_up(hosts=2)
    lab.command("link", "n2", *shape)
    assert lab.status()["hosts"][2]["shaped"]
    for flags in ([], ["-R"]):  # towards n2 and away from it
        measured = megabits(lab, *flags)
        print(f"\n200 Mbit/s asked for, {measured:.0f} Mbit/s measured by iperf3 {flags}")
        assert 180 <= measured <= 220
    lab.command("link", "n2", "--clear")
    assert megabits(lab) > 400


@pytest.mark.campaign
@pytest.mark.alone
def test_delay_is_within_20_percent(lab_up):
    lab = lab_up(hosts=2)
    lab.command("link", "n2", "--delay", "20ms")
    times = round_trip_ms(lab)
    print(f"\n20 ms asked for, median {statistics.median(times):.1f} ms of {len(times)} pings")
    assert 16 <= statistics.median(times) <= 24


def test_a_delay_is_kept_and_can_be_cleared(lab_up):
    lab = lab_up(hosts=2)
    lab.command("link", "n2", "--delay", "100ms")
    assert reachable(lab)  # a lost ARP request would delay the first pings by a second
    times = round_trip_ms(lab, 50)
    assert len(times) >= 45
    assert 95 <= statistics.median(times) <= 400
    lab.command("cut", "n2")  # a shaped link can also be cut
    assert not reachable(lab)
    lab.command("mend", "n2")
    assert reachable(lab)
    lab.command("link", "n2", "--clear")
    assert statistics.median(round_trip_ms(lab, 20)) < 50


def test_loss_between_two_hosts_leaves_the_others_alone(lab_up):
    lab = lab_up(hosts=3)
    lab.command("link", "n2", "--loss", "100%", "--between", "n3")
    ping = "ping -c 3 -i 0.2 -W 1 {}"
    assert lab.exec("n2", "sh", "-c", ping.format("198.18.0.1")).returncode == 0  # n2 still reaches the launcher
    assert lab.exec("n1", "sh", "-c", ping.format("n2")).returncode == 0
    assert lab.exec("n3", "sh", "-c", ping.format("n2")).returncode != 0
    assert lab.exec("n2", "sh", "-c", ping.format("n3")).returncode != 0
    assert lab.exec("n1", "sh", "-c", ping.format("n3")).returncode == 0


def test_a_filtered_link_passes_ssh_and_small_packets(lab_up):
    """A firewall in front of n2 passes only ssh, and the path to n1 only packets of up to 1300 bytes, with IPv4 and IPv6."""
    lab = lab_up(hosts=2, ip="both")
    addresses = {host["name"]: host["addresses"] for host in lab.status()["hosts"]}
    lab.command("link", "n2", "--only-ssh")
    lab.command("link", "n1", "--largest", "1300")
    knock = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3]))"
    with start(lab, "n2", "python3", "-c", "import socket; s = socket.create_server(('::', 5000), family=socket.AF_INET6, dualstack_ipv6=True); print('listening', flush=True); input()") as server:
        assert server.stdout.readline() == "listening\n"
        assert len(addresses["n2"]) == 2, addresses
        for address in addresses["n2"]:
            assert lab.exec("launcher", "python3", "-c", knock, address, "22", "30").returncode == 0
            refused = lab.exec("launcher", "python3", "-c", knock, address, "5000", "1")
            assert "TimeoutError" in refused.stderr or "timed out" in refused.stderr, refused
        server.stdin.close()
    for address in addresses["n1"]:
        headers = 48 if ":" in address else 28
        assert lab.exec("n2", "ping", "-Mdo", "-c3", "-i0.2", "-W2", "-s", str(1300 - headers), address).returncode == 0
        assert lab.exec("n2", "ping", "-Mdo", "-c1", "-W1", "-s", str(1301 - headers), address).returncode == 1


def test_loss_loses_about_its_share(lab_up):
    lab = lab_up(hosts=2)
    assert reachable(lab)  # the hosts know each other's address now; with these losses, ARP could give up and drop 100 pings
    lab.command("link", "n2", "--loss", "20%")
    times = round_trip_ms(lab, 400)
    # Both directions lose 20 %, so 36 % of the pings are lost. Of 400 pings, the standard deviation is 9.6.
    assert 256 - 60 < len(times) < 256 + 60


def test_a_wire_that_died_can_be_replaced(lab_up):
    lab = lab_up(hosts=2)
    lab.command("link", "n2", "--delay", "2ms")
    pid = int(open(f"/run/muster-lab/{lab.name}/disk/n2/wire0").read().split()[0])
    os.kill(pid, signal.SIGKILL)
    lab.command("link", "n2", "--delay", "20ms")
    assert statistics.median(round_trip_ms(lab, 10)) > 16


def test_a_cut_cable_is_not_mended_by_shaping_it(lab_up):
    lab = lab_up(hosts=2)
    lab.command("cut", "n2")
    refused = lab.command("link", "n2", "--delay", "2ms", check=False)
    assert refused.returncode == 2 and "muster lab mend n2" in refused.stderr
    assert not reachable(lab)


def test_restart_clears_a_shape(lab_up):
    lab = lab_up(hosts=2)
    lab.command("link", "n2", "--delay", "200ms")
    lab.command("restart", "n2")
    assert reachable(lab)  # a lost ARP request would delay all ten pings by a second
    assert statistics.median(round_trip_ms(lab, 10)) < 100


BREAKS = {
    "docker0": ([], "ip -o -4 addr show docker0 | grep -o 198.19.255.1/24"),
    "loopback-name": ([], "getent hosts $(hostname) | grep -w 127.0.1.1"),
    "no-such-binary": (["/usr/bin/iperf3"], "! command -v iperf3"),
    "ssh-modes": ([], "[ $(stat -c %a ~) = 777 ]"),
    "port": (["29500"], "ss -Hltn sport = :29500 | grep ."),
    "fake-rdma": ([], "grep 'RoCE v2' $(grep -l 0000:ffff /sys/class/infiniband/mlx5_bond_0/ports/1/gids/* | sed s/gids/gid_attrs\\\\/types/)"),
    "small-shm": ([], "[ $(df -m --output=size /dev/shm | tail -1) -eq 64 ]"),
    "limit": (["nofile=256"], "grep -E '^Max open files +256 +256 ' /proc/$(cat /run/sshd.pid)/limits"),
    "other-cpu": ([], "! grep -wE 'avx|fma|atomics' /proc/cpuinfo"),
    "duplicate-address": (["n1"], "[ $(hostname) = n2 ] && ip -o -4 addr | grep -w 198.18.1.1"),
}


@pytest.mark.parametrize("what", BREAKS)
def test_break_shows_on_that_host_only(lab_up, what):
    arguments, sign = BREAKS[what]
    lab = lab_up(hosts=2)
    for host in lab.hosts:
        assert lab.exec(host, "bash", "-c", sign).returncode != 0, "seen before anything was broken"
    lab.command("break", "n2", what, *arguments)
    assert lab.exec("n2", "bash", "-c", sign).returncode == 0
    assert lab.exec("n1", "bash", "-c", sign).returncode != 0


def test_break_refuses_what_it_does_not_understand(lab_up):
    lab = lab_up(hosts=1)
    for words in (["limit", "nofile"], ["limit", "nofile=1;reboot"], ["duplicate-address", "n9"], ["docker0", "x"], ["limit"]):
        assert lab.command("break", "n1", *words, check=False).returncode == 2, words


def test_break_docker0_gives_every_host_the_same_address(lab_up):
    lab = lab_up(hosts=2)
    lab.command("break", "n1,n2", "docker0")
    assert len({lab.shell(host, "ip -o -4 addr show docker0 | awk '{print $4}'") for host in lab.hosts}) == 1


def test_break_host_key_changes_the_key_that_sshd_shows(lab_up):
    lab = lab_up(hosts=2)

    def shown(host):
        return lab.exec("launcher", "ssh-keyscan", "-t", "ed25519", host).stdout.split()[2]

    before = {host: shown(host) for host in lab.hosts}
    lab.command("break", "n2", "host-key")
    assert shown("n2") != before["n2"]
    assert shown("n1") == before["n1"]


def test_a_held_port_names_its_holder(lab_up):
    lab = lab_up(hosts=1)
    lab.command("break", "n1", "port", "29500")
    holder = lab.exec("n1", "ss", "-Hltnp", "sport", "=", ":29500", root=True).stdout
    pid = re.search(r"pid=(\d+)", holder).group(1)
    assert lab.shell("n1", f"stat -c %U /proc/{pid}") == lab.user + "\n"
    taken = lab.command("break", "n1", "port", "29500", check=False)
    assert taken.returncode != 0 and "Address already in use" in taken.stderr
