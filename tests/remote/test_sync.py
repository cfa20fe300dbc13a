"""muster sync as a person uses it, from the launcher to three hosts."""
import pytest

pytestmark = pytest.mark.lab

ALL = "n1,n2,n3"


def sync(lab, *words):
    return lab.exec("launcher", "muster", "sync", "-H", ALL, *words)


def sh(lab, host, script, **more):
    done = lab.exec(host, "sh", "-c", script, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tree(lab, host, folder):
    """Every path below, with kind, mode, size and content."""
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
    again = sync(open_lab, job + "/")  # a slash at the end changes nothing
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
