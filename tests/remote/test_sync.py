"""muster sync from the launcher to three hosts, used as by a person."""
import subprocess

import pytest
from tests.on_terminal import on_terminal
from tests.waiting import patient, until

pytestmark = pytest.mark.lab

ALL = "n1,n2,n3"


def sync(lab, *words):
    return lab.exec("launcher", "muster", "sync", "-H", ALL, *words)


def sh(lab, host, script, **more):
    done = lab.exec(host, "sh", "-c", script, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tree(lab, host, folder):
    """Returns every path below the folder, with kind, mode, size and content."""
    script = f'cd "{folder}" && find . -printf "%P %y %m %s %l\\n" | sort && find . -type f -print0 | sort -z | xargs -0 cat'
    return sh(lab, host, script)


def make_job(lab):
    sh(lab, "launcher", """mkdir -p ~/job/data; echo 'print(1)' > ~/job/train.py; chmod 755 ~/job/train.py
        head -c 100000 /dev/zero > ~/job/data/zeros; ln -s train.py ~/job/link; echo x > ~/job/"it's \\$(here) now" """)
    return f"/home/{lab.user}/job"


@pytest.mark.smoke
def test_the_same_files_under_the_same_path_then_only_what_differs(open_lab):
    job = make_job(open_lab)
    first = sync(open_lab, job)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("n[1-3] (3 hosts): 3 files (100.0 kB)"), first.stdout
    for host in open_lab.hosts:
        assert tree(open_lab, host, job) == tree(open_lab, "launcher", job)
    again = sync(open_lab, job + "/")  # a slash at the end makes no difference
    assert again.stdout == "n[1-3] (3 hosts): the same already\n"
    sh(open_lab, "n2", "echo changed > ~/job/train.py")
    mended = sync(open_lab, "job")  # nor does a relative path
    assert mended.stdout == "n[1,3] (2 hosts): the same already\nn2: 1 file (9 bytes)\n"


def test_to_another_folder_whatever_its_name(open_lab):
    job = make_job(open_lab)
    name = "/tmp/deep/it's $(touch /tmp/injected); here"
    done = sync(open_lab, job, "--to", name)
    assert done.returncode == 0, done.stderr
    for host in open_lab.hosts:
        listed = open_lab.exec(host, "ls", name).stdout
        assert "train.py" in listed
        assert open_lab.exec(host, "test", "-e", "/tmp/injected").returncode == 1


def test_delete_only_when_asked_and_never_a_whole_home(open_lab):
    job = make_job(open_lab)
    sync(open_lab, job)
    sh(open_lab, "n1", "touch ~/job/extra")
    sync(open_lab, job)
    sh(open_lab, "n1", "test -e ~/job/extra")
    shown = sync(open_lab, job, "--delete", "--dry-run")
    assert "deleting" in shown.stdout and "extra" in shown.stdout
    sh(open_lab, "n1", "test -e ~/job/extra")
    done = sync(open_lab, job, "--delete")
    assert "n1: 0 files (0 bytes), 1 deleted" in done.stdout
    sh(open_lab, "n1", "test ! -e ~/job/extra")
    refused = sync(open_lab, job, "--delete", "--to", "~")
    assert refused.returncode == 2 and "--delete would delete" in refused.stderr
    for home in (f"/home/{open_lab.user}", "/home", f"/home/{open_lab.user}/job/.."):
        refused = sync(open_lab, job, "--delete", "--to", home)
        assert refused.returncode != 0 and "--delete would delete" in refused.stderr
    sh(open_lab, "n1", "test -e ~/.ssh/authorized_keys")


def test_an_edit_of_the_same_size_within_a_second_is_sent(open_lab):
    job = make_job(open_lab)
    sh(open_lab, "launcher", "touch -d '2026-01-01 00:00:00.1' ~/job/train.py")
    sync(open_lab, job)
    sh(open_lab, "launcher", "echo 'print(2)' > ~/job/train.py; touch -d '2026-01-01 00:00:00.2' ~/job/train.py")
    done = sync(open_lab, job)
    assert done.stdout == "n[1-3] (3 hosts): 1 file (9 bytes)\n", done.stderr
    assert sh(open_lab, "n3", "cat ~/job/train.py") == "print(2)\n"
    assert sync(open_lab, job).stdout == "n[1-3] (3 hosts): the same already\n"


def test_checksum_finds_what_size_and_time_hide(open_lab):
    job = make_job(open_lab)
    sync(open_lab, job)
    sh(open_lab, "n3", "touch -r ~/job/train.py t; echo 'print(2)' > ~/job/train.py; touch -r t ~/job/train.py")
    assert "the same already" in sync(open_lab, job).stdout
    assert "n3: 1 file" in sync(open_lab, job, "--checksum").stdout
    assert sh(open_lab, "n3", "cat ~/job/train.py") == "print(1)\n"


def test_what_cannot_be_sent_is_an_error_before_anything_is(open_lab):
    job = make_job(open_lab)
    missing = sync(open_lab, "no-such-folder")
    assert missing.returncode == 2 and "no-such-folder" in missing.stderr
    sh(open_lab, "launcher", "chmod 000 ~/job/data/zeros")
    closed = sync(open_lab, job)
    assert closed.returncode == 2 and f"{job}/data/zeros: muster cannot read" in closed.stderr
    for host in open_lab.hosts:
        sh(open_lab, host, "test ! -e ~/job")


def test_a_host_without_rsync_is_named_and_the_others_are_served(open_lab):
    job = make_job(open_lab)
    sh(open_lab, "n2", "mv $(command -v rsync) /root/", root=True)
    done = sync(open_lab, job)
    assert done.returncode == 5
    assert "n2: rsync is not installed on the host" in done.stderr and "hint: install it on the host, for example: apt-get install rsync" in done.stderr
    assert done.stdout.startswith("n[1,3] (2 hosts): 3 files")


def test_it_rides_on_the_open_connection(open_lab):
    job = make_job(open_lab)
    assert open_lab.exec("launcher", "muster", "exec", "-H", ALL, "--", "true").returncode == 0
    for host in open_lab.hosts:  # a new login would fail now
        sh(open_lab, host, "mv ~/.ssh/authorized_keys ~/.ssh/away")
    done = sync(open_lab, job)
    assert done.returncode == 0, done.stderr


def back(lab, *words):
    return lab.exec("launcher", "muster", "sync", "-H", ALL, "--back", *words)


def make_results(lab):
    """Makes results on hosts and returns their folder. n1 and n2 have one file of their own and an equal one each; n3 has nothing."""
    for host in ("n1", "n2"):
        sh(lab, host, f"mkdir -p ~/job/out/{host} && cd ~/job/out && echo {host} > {host}/loss && echo equal > config && touch -d 2026-01-01 config")
    return f"/home/{lab.user}/job/out"


def test_results_come_home_merged(open_lab):
    out = make_results(open_lab)
    done = back(open_lab, "results", out)
    assert done.returncode == 0, done.stderr
    assert "n3: nothing to bring back" in done.stdout and "n[1-2] (2 hosts): 2 files" in done.stdout, done.stdout
    assert sh(open_lab, "launcher", "cd results && find . -type f | sort | xargs tail -n 1") == \
        "==> ./config <==\nequal\n\n==> ./n1/loss <==\nn1\n\n==> ./n2/loss <==\nn2\n"
    assert "n[1-2] (2 hosts): the same already" in back(open_lab, "results", out).stdout  # files that are already here are not sent again
    for host, text in (("n1", "another"), ("n2", "other")):
        sh(open_lab, host, f"echo {text} > ~/job/out/config")
    refused = back(open_lab, "results", out)
    assert refused.returncode == 125 and "config: n1 and n2 have different files of this name" in refused.stderr and "--per-host" in refused.stderr
    assert sh(open_lab, "launcher", "cat results/config; ls -A results") == "equal\nconfig\nn1\nn2\n"
    apart = back(open_lab, "apart", "--per-host", out)
    assert apart.returncode == 0, apart.stderr
    assert sh(open_lab, "launcher", "cat apart/n1/config apart/n2/config; ls apart") == "another\nother\nn1\nn2\n"


def test_a_hostile_host_cannot_write_elsewhere(open_lab):
    """A host can do no harm with links and modes that it sends, through a link that exists here, or by sending files
    that were not requested."""
    out = make_results(open_lab)
    sh(open_lab, "n1", "cd ~/job/out && ln -s ../../.ssh keys && mkfifo pipe && cp /bin/true suid && chmod 4755 suid && ln -s /etc/passwd n1/passwd")
    sh(open_lab, "n2", "mkdir ~/job/out/keys && echo evil > ~/job/out/keys/authorized_keys")
    assert open_lab.exec("launcher", "muster", "exec", "-H", ALL, "--", "true").returncode == 0  # this creates muster's own directory in .ssh
    before = tree(open_lab, "launcher", "$HOME/.ssh")
    done = back(open_lab, "results", out)
    assert done.returncode == 0, done.stderr
    assert "left out, because they are links or special files: " in done.stdout
    assert sh(open_lab, "launcher", "find results ! -type f ! -type d; find results -perm /6000") == ""
    sh(open_lab, "launcher", "rm -r results/keys && ln -s ../.ssh results/keys")
    refused = back(open_lab, "results", out)
    assert refused.returncode == 125 and "keys: this is a symbolic link, but on the hosts it is a directory" in refused.stderr, refused.stderr
    fake = '#!/bin/sh\ncase $1 in --server) exec rsync.real "$@" -l;; esac\nexec rsync.real "$@"\n'  # sends links that were not requested
    sh(open_lab, "n1", "mv /usr/bin/rsync /usr/bin/rsync.real", root=True)
    open_lab.write("n1", "/usr/bin/rsync", fake, mode="755", root=True)
    lies = back(open_lab, "lies", "--per-host", out)
    assert lies.returncode != 0 and "n1: cannot copy the files from the host" in lies.stderr, lies.stderr
    assert sh(open_lab, "launcher", "find lies ! -type f ! -type d; ls lies") in ("n2\n", "n1\nn2\n")
    assert {line for line in tree(open_lab, "launcher", "$HOME/.ssh").splitlines() if "muster" not in line} == \
        {line for line in before.splitlines() if "muster" not in line}


def test_ctrl_c_leaves_nothing_behind(open_lab):
    out = make_results(open_lab)
    sh(open_lab, "n2", "mv /usr/bin/rsync /usr/bin/rsync.real", root=True)
    waits = '#!/bin/sh\ncase $1 in --server) touch /tmp/asked; exec cat > /dev/null;; esac\nexec rsync.real "$@"\n'
    open_lab.write("n2", "/usr/bin/rsync", waits, mode="755", root=True)
    words = open_lab.words("launcher", *on_terminal("muster", "sync", "-H", ALL, "--back", "results", out))
    running = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    until("n2 was asked and n1's files are here", lambda: open_lab.exec("n2", "test", "-e", "/tmp/asked").returncode == 0
          and open_lab.exec("launcher", "test", "-e", "results/.muster-back/n1/config").returncode == 0, 20)
    said, _ = running.communicate("\x03", timeout=patient(20))
    assert running.returncode == 130 and "results: interrupted; nothing was changed" in said, said
    assert sh(open_lab, "launcher", "ls -A results") == ""


def test_progress_is_for_terminals(open_lab):
    job = make_job(open_lab)
    shown = open_lab.exec("launcher", *on_terminal("muster", "sync", "-H", ALL, job)).stdout
    assert "\x1b[Ksending the files to the hosts: 0 of 3" in shown and "n[1-3] (3 hosts): 3 files" in shown, repr(shown)
    checked = open_lab.exec("launcher", *on_terminal("muster", "check", "-H", ALL)).stdout
    for what in ("checking the hosts: 0 of 3", "copying muster to the hosts: 0 of 3"):
        assert f"\x1b[K{what}" in checked, repr(checked)
    assert "\x1b[K3 of 3 hosts answered" in checked, repr(checked)  # the line is erased when the result appears
    piped = open_lab.exec("launcher", "muster", "check", "-H", ALL)
    assert "\x1b" not in piped.stdout + piped.stderr and "checking the hosts" not in piped.stderr
