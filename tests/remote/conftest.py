"""A lab whose launcher may log in to every host, prepared without muster's own setup."""
import pytest


def open_doors(lab) -> None:
    """A key for the launcher's user, installed on every host; the hosts' keys pinned."""
    script = "mkdir -pm700 ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519 && cat ~/.ssh/id_ed25519.pub"
    key = lab.exec("launcher", "sh", "-c", script).stdout
    pins = ""
    for host in lab.hosts:
        made = lab.exec(host, "sh", "-c", "umask 077; mkdir -p ~/.ssh; cat > ~/.ssh/authorized_keys", input=key)
        assert made.returncode == 0, made.stderr
        host_key = lab.exec(host, "cat", "/etc/ssh/ssh_host_ed25519_key.pub", root=True).stdout
        pins += f"{host} {' '.join(host_key.split()[:2])}\n"
    pinned = lab.exec("launcher", "sh", "-c", "cat > ~/.ssh/known_hosts", input=pins)
    assert pinned.returncode == 0, pinned.stderr


@pytest.fixture
def open_lab(lab_up):
    """Three hosts that the launcher reaches by ssh."""
    lab = lab_up(hosts=3)
    open_doors(lab)
    return lab
