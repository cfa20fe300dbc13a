"""The promises of `muster setup`, on lab hosts with real sshd. In each test, the hosts do not know each other at first."""

import json
import re
import subprocess

import pytest
from tests.schemas import described
from tests.waiting import patient

FINGERPRINT = r"SHA256:[A-Za-z0-9+/]{43}"
TREE = r"""cd && { find . -path '*/cm/*' -prune -o -path './.ssh*' -printf '%p %y %m %u %g\n'; stat -c 'home %a %U %G' .
find .ssh -type f -exec sha256sum {} + 2>/dev/null; } | sort"""


@pytest.fixture
def lab(lab_up):
    return lab_up(hosts=3)


def sh(lab, host, script, **more):
    return lab.exec(host, "sh", "-c", script, **more)


def out(lab, host, script, **more):
    done = sh(lab, host, script, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tree(lab, host):
    """Returns every file in ~/.ssh with type, mode, owner and content."""
    return out(lab, host, TREE)


def everywhere(lab):
    return {host: tree(lab, host) for host in [*lab.hosts, "launcher"]}


def setup(lab, *flags, hosts=None, password=None, code=0):
    done = lab.exec("launcher", "muster", "setup", "-H", ",".join(hosts or lab.hosts), *flags,
                    input=None if password is None else password + "\n", timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def first_setup(lab, *flags):
    return setup(lab, "--yes", "--password-file", "-", *flags, password=lab.password)


def undo(lab, *flags, code=0):
    done = lab.exec("launcher", "muster", "setup", "--undo", *flags, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def strict_ssh(lab, source, target):
    return lab.exec(source, "ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", target, "hostname")


def host_key(lab, host):
    listed = out(lab, host, "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub", root=True)
    return re.search(FINGERPRINT, listed).group()


def new_host_key(lab, host):
    out(lab, host, "rm -f /etc/ssh/ssh_host_ed25519_key* && ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key"
        " && kill -HUP $(pgrep -o -x sshd) && i=0 && until ssh-keyscan -t ed25519 127.0.0.1 2>/dev/null"
        " | grep -qF \"$(cut -d' ' -f2 /etc/ssh/ssh_host_ed25519_key.pub)\"; do i=$((i+1)); [ $i -lt 1000 ] || exit 1; done", root=True)


def log(lab, host):
    return out(lab, host, "cat /var/log/sshd.log", root=True)


@pytest.mark.smoke
def test_one_password_is_enough_and_a_second_run_changes_nothing(lab):
    first_setup(lab)
    for host in lab.hosts:
        assert strict_ssh(lab, "launcher", host).stdout == host + "\n"
    before = everywhere(lab)
    again = setup(lab)  # without a password and a terminal
    assert "nothing to change" in again
    assert everywhere(lab) == before
    for host in lab.hosts:  # the first login, the test of the key (ssh then shares that connection), and one login of the second run
        assert re.findall(r"Accepted (\S+)", log(lab, host)) == ["password", "publickey", "publickey"]


def test_a_start_up_file_that_prints_half_a_line_is_no_hindrance(lab):
    for host in lab.hosts:
        out(lab, host, "printf 'printf hello\\n' > ~/.bashrc")
    first_setup(lab)
    assert "nothing to change" in setup(lab)


def test_an_existing_key_serves_instead_of_the_password(lab):
    public = out(lab, "launcher", "cd && ssh-keygen -q -t ed25519 -N '' -f mine && cat mine.pub")
    for host in lab.hosts:
        out(lab, host, f"mkdir -m 700 ~/.ssh && echo '{public.strip()}' > ~/.ssh/authorized_keys")
    setup(lab, "--yes", "--identity", f"/home/{lab.user}/mine")
    for host in lab.hosts:
        assert strict_ssh(lab, "launcher", host).stdout == host + "\n"
        assert "password" not in log(lab, host)


def test_the_users_own_key_can_be_the_clusters(lab):
    public = out(lab, "launcher", "cd && ssh-keygen -q -t ed25519 -N '' -f mine && cat mine.pub")
    first_setup(lab, "--key", f"/home/{lab.user}/mine")
    for host in lab.hosts:
        assert out(lab, host, "cat ~/.ssh/authorized_keys") == public
        assert strict_ssh(lab, "launcher", host).stdout == host + "\n"


def test_host_to_host_connects_every_pair(lab):
    told = first_setup(lab, "--host-to-host")
    assert "6 connections between hosts checked (every pair, both ways)" in told
    for source in lab.hosts:
        for target in lab.hosts:
            if source != target:
                assert strict_ssh(lab, source, target).stdout == target + "\n"
        key_lines = out(lab, source, "grep from= ~/.ssh/authorized_keys").splitlines()
        assert len(key_lines) == 3 and all(re.match(r'from="198\.18\.[0-9.,]+",restrict ssh-ed25519 ', line) for line in key_lines)
        assert out(lab, source, "stat -c %a ~/.ssh/muster-mesh/own_ed25519") == "600\n"
    assert len({out(lab, host, "cat ~/.ssh/muster-mesh/own_ed25519") for host in lab.hosts}) == 3  # no two hosts have the same key
    before = everywhere(lab)
    assert "nothing to change" in setup(lab, "--host-to-host")
    assert everywhere(lab) == before
    # The key gives no access from elsewhere, for example from the launcher, which is in no job.
    stolen = out(lab, "n1", "cat ~/.ssh/muster-mesh/own_ed25519")
    for thief, known_hosts in [("launcher", "muster/known_hosts.d/n2"), ("n3", "muster-mesh/known_hosts")]:
        out(lab, thief, "umask 077; cat > ~/stolen", input=stolen)
        tried = sh(lab, thief, "ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -i ~/stolen "
                   f"-o UserKnownHostsFile=~/.ssh/{known_hosts} n2 true")
        assert tried.returncode == 255 and "Permission denied" in tried.stderr


def test_host_to_host_believes_no_host_about_its_addresses(lab_up):
    lab = lab_up(hosts=2)
    addresses = {host["name"]: host["addresses"][0] for host in lab.status()["hosts"]}
    # n2 claims an unused address, the launcher's, and that of n1.
    claims = ["198.18.255.77", addresses["launcher"], addresses["n1"]]
    lines = "".join(f"echo '9: eth9    inet {claim}/24 scope global eth9'; " for claim in claims)
    out(lab, "n2", "mkdir ~/bin; echo 'PATH=~/bin:$PATH' > ~/.bashrc; cat > ~/bin/ip; chmod 755 ~/bin/ip",
        input=f"#!/bin/sh\n{lines}exec $(PATH=/sbin:/bin:/usr/sbin:/usr/bin command -v ip) \"$@\"\n")
    assert "2 connections between hosts checked" in first_setup(lab, "--host-to-host")
    for host in lab.hosts:
        pinned = dict(line.split(" ", 1) for line in out(lab, host, "cat ~/.ssh/muster-mesh/known_hosts").splitlines())
        assert pinned.keys() == {"n1", "n2", addresses["n1"], addresses["n2"]}
        assert pinned[addresses["n1"]] == pinned["n1"] != pinned["n2"] == pinned[addresses["n2"]]
        assert not [claim for claim in claims[:2] if claim in out(lab, host, "cat ~/.ssh/authorized_keys ~/.ssh/muster-mesh/config")]


def test_a_changed_host_key_is_refused_with_both_fingerprints(lab):
    first_setup(lab)
    victim = lab.hosts[1]
    old = host_key(lab, victim)
    new_host_key(lab, victim)
    before = tree(lab, "launcher")
    told = setup(lab, code=4)
    assert old in told and host_key(lab, victim) in told and old != host_key(lab, victim)
    assert tree(lab, "launcher") == before
    shown = lab.exec("launcher", "muster", "setup", "--forget", victim)
    assert shown.returncode == 0 and old in shown.stdout
    setup(lab, code=4)  # nobody accepted the new key
    setup(lab, "--yes")  # our key is still installed, so no password is needed
    assert strict_ssh(lab, "launcher", victim).stdout == victim + "\n"


def test_a_wrong_password_is_tried_once_a_host(lab):
    told = setup(lab, "--yes", "--password-file", "-", password="wrong", code=4)
    assert told.count("refused the password") >= 1 and "3 of 3 hosts failed" in told
    for host in lab.hosts:
        assert log(lab, host).count("Failed password") == 1
        assert sh(lab, "launcher", f"test -e ~/.ssh/muster/known_hosts.d/{host}").returncode == 1  # nothing was pinned
        assert out(lab, host, "ls -A ~ | grep -c '^.ssh$' || true") == "0\n"


def test_a_wrong_fingerprint_stops_that_host_only(lab):
    first, second, third = lab.hosts
    lines = f"{first} {host_key(lab, first)}\n{second} {host_key(lab, first)}\n{third} {host_key(lab, third)}\n"
    out(lab, "launcher", "cat > ~/prints", input=lines)
    told = setup(lab, "--fingerprints", f"/home/{lab.user}/prints", "--password-file", "-", password=lab.password, code=4)
    assert "1 of 3 hosts failed" in told and host_key(lab, second) in told
    assert strict_ssh(lab, "launcher", first).returncode == 0
    assert strict_ssh(lab, "launcher", third).returncode == 0
    assert strict_ssh(lab, "launcher", second).returncode == 255
    assert "password" not in log(lab, second)


def test_nobody_to_accept_the_keys_means_no(lab):
    told = setup(lab, "--password-file", "-", password=lab.password, code=4)
    for host in lab.hosts:
        assert f"{host} {host_key(lab, host)}" in told  # a line for --fingerprints
        assert "password" not in log(lab, host)


def test_a_system_wide_known_hosts_command_vouches_for_nothing(lab):
    first = lab.hosts[0]
    key = " ".join(out(lab, first, "cat /etc/ssh/ssh_host_ed25519_key.pub", root=True).split()[:2])
    out(lab, "launcher", f"printf '#!/bin/sh\\necho {first} {key}\\n' > /usr/local/bin/vouch && chmod 755 /usr/local/bin/vouch"
        " && echo 'KnownHostsCommand /usr/local/bin/vouch' > /etc/ssh/ssh_config", root=True)
    told = setup(lab, "--password-file", "-", hosts=[first], password=lab.password, code=4)
    assert f"{first} {host_key(lab, first)}" in told and "password" not in log(lab, first)
    setup(lab, "--yes", "--password-file", "-", hosts=[first], password=lab.password)
    assert key in out(lab, "launcher", f"cat ~/.ssh/muster/known_hosts.d/{first}")
    out(lab, "launcher", f"ssh -O exit {first} 2>&1; : > ~/.ssh/muster/known_hosts.d/{first}")
    assert strict_ssh(lab, "launcher", first).returncode == 255


def prepare_lived_in_homes(lab):
    out(lab, lab.hosts[0], "mkdir -m 750 ~/.ssh; printf 'ssh-rsa AAAA old@home' > ~/.ssh/authorized_keys; chmod 640 ~/.ssh/authorized_keys")
    out(lab, lab.hosts[1], "mkdir -m 700 ~/.ssh; printf '# mine\\nHost x\\n  Port 7' > ~/.ssh/config; chmod 664 ~/.ssh/config")
    out(lab, "launcher", "mkdir -m 755 ~/.ssh; printf 'Host far\\n  User me\\n  Port 77' > ~/.ssh/config; chmod 644 ~/.ssh/config")


@pytest.mark.parametrize("flags", [[], ["--host-to-host"]])
def test_undo_leaves_every_file_as_it_was(lab, flags):
    prepare_lived_in_homes(lab)
    before = everywhere(lab)
    first_setup(lab, *flags)
    assert out(lab, "launcher", "head -n 2 ~/.ssh/config") == "Include muster/config\nHost far\n"
    assert "user me" in out(lab, "launcher", "ssh -G far")
    undo(lab)
    assert everywhere(lab) == before
    # No connection stays open.
    assert sh(lab, "launcher", "pgrep -x ssh").stdout == ""


def test_undo_keeps_what_was_added_since(lab):
    prepare_lived_in_homes(lab)
    first_setup(lab)
    out(lab, lab.hosts[0], "echo 'ssh-rsa BBBB newer' >> ~/.ssh/authorized_keys")
    out(lab, "launcher", "printf '\\nHost later\\n  Port 78\\n' >> ~/.ssh/config")
    undo(lab)
    assert out(lab, lab.hosts[0], "cat ~/.ssh/authorized_keys") == "ssh-rsa AAAA old@home\nssh-rsa BBBB newer\n"
    kept = out(lab, "launcher", "cat ~/.ssh/config")
    assert kept == "Host far\n  User me\n  Port 77\nHost later\n  Port 78\n"


def test_undo_without_one_host_can_be_finished_later(lab):
    first_setup(lab)
    out(lab, lab.hosts[2], "mv ~/.ssh ~/.ssh-away")
    out(lab, "launcher", f"ssh -O exit {lab.hosts[2]} 2>&1")
    told = undo(lab, code=4)
    assert "1 of 3 hosts failed" in told
    assert out(lab, lab.hosts[0], "ls -A ~ | grep -c '^.ssh$' || true") == "0\n"
    out(lab, lab.hosts[2], "mv ~/.ssh-away ~/.ssh")
    undo(lab)
    assert out(lab, lab.hosts[2], "ls -A ~ | grep -c '^.ssh$' || true") == "0\n"
    assert out(lab, "launcher", "ls -A ~ | grep -c '^.ssh$' || true") == "0\n"


def interrupt_setup(lab, served):
    """Starts setup and interrupts it once the hosts in `served` have the key. Returns False if setup ended before it could be interrupted."""
    with subprocess.Popen(lab.words("launcher", "sh", "-c", f"echo $$ > /tmp/pid; exec muster setup -H {','.join(lab.hosts)}"
                                    " --yes --password-file /tmp/pw"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        for host in served:
            out(lab, host, "i=0; until [ -s ~/.ssh/authorized_keys ] && [ ! -e ~/.ssh/muster-undo/lock ];"
                " do i=$((i+1)); [ $i -lt 2000 ] || exit 1; sleep 0.05; done")
        sh(lab, "launcher", "kill -INT $(cat /tmp/pid)")
        code = running.wait(patient(30))
        assert code in (130, 4)
        return code == 130


def test_undo_also_finds_the_hosts_of_an_interrupted_setup(lab):
    *others, cut = lab.hosts
    before = everywhere(lab)
    out(lab, "launcher", "umask 077; cat > /tmp/pw", input=lab.password + "\n")
    for _ in range(3):
        lab.command("cut", cut)
        is_interrupted = interrupt_setup(lab, others)
        lab.command("mend", cut)
        if is_interrupted:
            break
        undo(lab)
    assert is_interrupted, "setup had given up the cut host before the others were done, three times"
    told = undo(lab, code=4)
    assert "1 of 3 hosts failed" in told
    for host in others:
        assert tree(lab, host) == before[host]
    undo(lab, "--forget", cut)
    assert everywhere(lab) == before


def test_giving_up_one_host_leaves_the_others_set_up(lab):
    first_setup(lab)
    *others, gone = lab.hosts
    undo(lab, "--forget", gone)
    for host in others:
        assert strict_ssh(lab, "launcher", host).stdout == host + "\n"
    assert [line.split("\t")[0] for line in out(lab, "launcher", "cat ~/.ssh/muster/hosts").splitlines()] == others


def test_modes_that_sshd_refuses_are_put_right_and_given_back(lab):
    for host in lab.hosts:
        out(lab, host, "mkdir ~/.ssh; : > ~/.ssh/authorized_keys; chmod 777 ~/.ssh; chmod 666 ~/.ssh/authorized_keys; chmod 775 ~")
    before = everywhere(lab)
    told = first_setup(lab)
    assert "removed group and world write permission from the home directory" in told
    for host in lab.hosts:
        assert strict_ssh(lab, "launcher", host).returncode == 0
    undo(lab)
    assert everywhere(lab) == before


def test_files_that_their_owner_may_not_change_and_a_config_that_others_may(lab):
    out(lab, lab.hosts[0], "mkdir ~/.ssh; : > ~/.ssh/authorized_keys; chmod 400 ~/.ssh/authorized_keys; chmod 500 ~/.ssh")
    out(lab, "launcher", "mkdir -m 700 ~/.ssh; echo '# mine' > ~/.ssh/config; chmod 666 ~/.ssh/config")
    before = everywhere(lab)
    first_setup(lab)
    for host in lab.hosts:
        assert strict_ssh(lab, "launcher", host).returncode == 0
    undo(lab)
    assert everywhere(lab) == before


def test_a_folder_of_another_user_is_named_with_the_remedy(lab):
    out(lab, lab.hosts[0], f"mkdir -m 755 ~{lab.user}/.ssh", root=True)
    before = tree(lab, lab.hosts[0])
    told = setup(lab, "--yes", "--password-file", "-", password=lab.password, code=4)
    assert f"~/.ssh belongs to root; as root: chown {lab.user} /home/{lab.user}/.ssh" in told and "1 of 3 hosts failed" in told
    assert tree(lab, lab.hosts[0]) == before


def test_a_key_that_others_may_read_is_refused(lab):
    out(lab, "launcher", "cd && ssh-keygen -q -t ed25519 -N '' -f mine && chmod 644 mine")
    for flag in ["--key", "--identity"]:
        assert f"chmod 600 /home/{lab.user}/mine" in setup(lab, "--yes", flag, f"/home/{lab.user}/mine", code=2)
    assert sh(lab, "launcher", "test -e ~/.ssh").returncode == 1


def test_one_login_serves_check_exec_sync_and_plain_ssh(lab):
    first_setup(lab)
    for _ in range(2):
        assert lab.exec("launcher", "muster", "exec", "-H", ",".join(lab.hosts), "--", "hostname").returncode == 0
    out(lab, "launcher", "mkdir -p ~/job && echo 1 > ~/job/file")
    done = lab.exec("launcher", "muster", "sync", "-H", ",".join(lab.hosts), f"/home/{lab.user}/job")
    assert done.returncode == 0, done.stderr
    assert strict_ssh(lab, "launcher", lab.hosts[0]).returncode == 0
    for host in lab.hosts:
        accepted = re.findall(r"Accepted (\S+)", log(lab, host))
        assert accepted == ["password", "publickey"]  # the first login, and one for everything that follows


def test_the_users_agent_and_local_command_reach_no_host(lab_up):
    lab = lab_up(hosts=1)
    out(lab, "n1", "echo 'echo \"agent: $SSH_AUTH_SOCK\" >> ~/sessions' > ~/.bashrc")
    out(lab, "launcher", "umask 077; mkdir ~/.ssh; cat > ~/.ssh/config",
        input="ForwardAgent yes\nPermitLocalCommand yes\nLocalCommand touch ~/local-command-ran\n")
    out(lab, "launcher", "ssh-agent sh -c 'test -S $SSH_AUTH_SOCK && muster setup -H n1 --yes --password-file -"
        " && muster exec -H n1 true'", input=lab.password + "\n", timeout=120)
    assert set(out(lab, "n1", "cat ~/sessions").splitlines()) == {"agent: "}
    assert sh(lab, "launcher", "test -e ~/local-command-ran").returncode == 1


def test_the_password_is_in_no_argument_list_environment_or_file(lab):
    out(lab, "launcher", "umask 077; cat > /tmp/pw", input=lab.password + "\n")
    watched = out(lab, "launcher", f"""
      muster setup -H {','.join(lab.hosts)} --yes --password-file /tmp/pw --host-to-host >~/log 2>&1 & pid=$!
      seen=0; looks=0
      while kill -0 $pid 2>/dev/null; do
        looks=$((looks+1))
        if cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | grep -aqFf /tmp/pw; then seen=1; fi
      done
      wait $pid; code=$?
      grep -rqFf /tmp/pw ~ && seen=2
      rm /tmp/pw
      echo code=$code seen=$seen enough=$([ $looks -gt 5 ] && echo yes)""", timeout=120)
    assert watched == "code=0 seen=0 enough=yes\n"


def test_a_password_file_that_others_can_read_is_refused(lab):
    out(lab, "launcher", "echo x > ~/pw; chmod 644 ~/pw")
    assert "chmod 600" in setup(lab, "--yes", "--password-file", f"/home/{lab.user}/pw", code=2)


def test_dry_run_touches_nothing(lab):
    before = everywhere(lab)
    told = setup(lab, "--dry-run")
    assert "first time" in told and everywhere(lab) == before
    first_setup(lab)
    before = everywhere(lab)
    out(lab, lab.hosts[0], "chmod 775 ~")
    told = setup(lab, "--dry-run")
    assert "removed group and world write permission from the home directory" in told
    assert out(lab, lab.hosts[0], "stat -c %a ~") == "775\n"
    assert "removed ~/.ssh/authorized_keys" in undo(lab, "--dry-run")
    out(lab, lab.hosts[0], "chmod 755 ~")
    assert {h: t for h, t in everywhere(lab).items() if h != lab.hosts[0]} == {h: t for h, t in before.items() if h != lab.hosts[0]}


def test_json_says_the_same(lab):
    done = lab.exec("launcher", "muster", "setup", "-H", ",".join(lab.hosts), "--yes", "--json", "--password-file", "-",
                    input=lab.password + "\n")
    told = described("setup", json.loads(done.stdout))
    assert [host["host"] for host in told["hosts"]] == lab.hosts and all(host["ok"] for host in told["hosts"])
    assert {key["fingerprint"] for key in told["host_keys"]} == {host_key(lab, host) for host in lab.hosts}


PERSON = r"""
import os, pty, select, sys, time
hosts, password = sys.argv[1], sys.stdin.readline().strip()
def logins_are_open():
    with open("/proc/net/tcp") as sockets:  # local, remote, state: established to port 22
        return any(line.split()[2].endswith(":0016") and line.split()[3] == "01" for line in sockets)
pid, fd = pty.fork()
if pid == 0:
    os.execvp("muster", ["muster", "setup", "-H", hosts])
seen, answers, end = b"", [(b"(yes/no)", b"yes\n"), (b"password:", password.encode() + b"\n")], time.monotonic() + 300
while time.monotonic() < end:
    if not select.select([fd], [], [], 1)[0]:
        continue
    try:
        got = os.read(fd, 4096)
    except OSError:
        break
    seen += got
    if answers and answers[0][0] in seen:
        while sys.argv[2:] == ["slow"] and logins_are_open() and time.monotonic() < end:
            time.sleep(0.05)
        os.write(fd, answers.pop(0)[1])
print(seen.decode()); print("CODE", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_a_person_accepts_all_keys_once_and_types_the_password_once_unseen(lab):
    done = lab.exec("launcher", "/usr/bin/python3", "-c", PERSON, ",".join(lab.hosts), input=lab.password + "\n", timeout=90)
    assert "CODE 0" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("Accept and pin all 3?") == 1 and done.stdout.count("hosts): password:") == 1
    for host in lab.hosts:
        assert host_key(lab, host) in done.stdout.split("Accept and pin")[0]
    assert lab.password not in done.stdout


def test_a_person_may_take_longer_than_sshd_waits(lab):
    for host in lab.hosts:
        out(lab, host, "sed -i '1i LoginGraceTime 10' /etc/ssh/sshd_config && n=$(grep -c 'Server listening' /var/log/sshd.log)"
            " && kill -HUP $(pgrep -o -x sshd) && i=0 && until [ $(grep -c 'Server listening' /var/log/sshd.log) -gt $n ];"
            " do i=$((i+1)); [ $i -lt 2000 ] || exit 1; sleep 0.05; done", root=True)
    told = lab.exec("launcher", "/usr/bin/python3", "-c", PERSON, ",".join(lab.hosts), "slow", input=lab.password + "\n",
                    timeout=90).stdout
    assert "CODE 0" in told, told
    assert told.count("Accept and pin all 3?") == 1 and told.count("hosts): password:") == 1


def test_a_second_cluster_adds_to_the_first(lab):
    first, *others = lab.hosts
    setup(lab, "--yes", "--password-file", "-", hosts=[first], password=lab.password)
    setup(lab, "--yes", "--password-file", "-", hosts=others, password=lab.password)
    for host in lab.hosts:
        assert strict_ssh(lab, "launcher", host).stdout == host + "\n"
