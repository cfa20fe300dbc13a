"""The launcher cannot log in."""
from tests.explain.recipes.recipe import Recipe, lab, on

HOME = "/home/dev"


def login(id, name, make, undo, **more):
    """Returns a recipe that runs bare mpirun on three hosts. `make` breaks the login to n2, the second of them."""
    return Recipe(id, name, f"mpirun {more.pop('flags', '')} -H n1,n2,n3 hostname", make, undo,
                  **{"mpi": "openmpi4", "says": "n2", "follows": ("ompi-daemons-not-started",), **more})


RECIPES = [
    login("ssh-host-key-unknown", "a host that this machine does not know",
          [on("launcher", f"cp -a {HOME}/.ssh/known_hosts /root/kept; sed -i '/^n2 /d' {HOME}/.ssh/known_hosts; printf 'StrictHostKeyChecking yes\\n' > {HOME}/.ssh/config")],
          [on("launcher", f"cp -a /root/kept {HOME}/.ssh/known_hosts; rm {HOME}/.ssh/config")], ci=True),
    login("ssh-host-key-changed", "a host that was installed again", [lab("break", "n2", "host-key")], [], own_lab=True, also=("ssh-host-key-unknown",),
          follows=("ompi-daemons-not-started", "ompi-no-route-to-daemon")),
    login("ssh-publickey-denied", "a host without the key",
          [on("n2", f"mv {HOME}/.ssh/authorized_keys {HOME}/.ssh/kept"), on("launcher", f"printf 'BatchMode yes\\n' > {HOME}/.ssh/config")],
          [on("n2", f"mv {HOME}/.ssh/kept {HOME}/.ssh/authorized_keys"), on("launcher", f"rm {HOME}/.ssh/config")], ci=True),
    login("ssh-private-key-perms", "a private key that others may read", [on("launcher", f"chmod 644 {HOME}/.ssh/id_ed25519; printf 'BatchMode yes\\n' > {HOME}/.ssh/config")],
          [on("launcher", f"chmod 600 {HOME}/.ssh/id_ed25519; rm {HOME}/.ssh/config")], says="chmod 600"),
    login("ssh-connect-refused-or-timeout", "a host without sshd", [on("n2", "kill $(cat /run/sshd.pid)")], [], own_lab=True, mpi="openmpi5"),
    Recipe("ssh-too-many-agent-keys", "an agent that offers seven other keys first",
           "eval $(ssh-agent) >/dev/null; for i in 1 2 3 4 5 6 7; do ssh-keygen -q -t ed25519 -N '' -f key$i; ssh-add -q key$i; done; mv .ssh/id_ed25519 .ssh/kept; "
           "ssh -o BatchMode=yes n2 hostname; ssh-agent -k >/dev/null",
           undo=[on("launcher", f"mv {HOME}/.ssh/kept {HOME}/.ssh/id_ed25519; rm {HOME}/key*")], says="198.18.1.2"),
    Recipe("ssh-maxstartups-throttle", "a sshd that admits few logins at once", "python3 HERE/hold.py & until [ -e held ]; do sleep 0.1; done; timeout 20 mpirun -H n1,n2 hostname; kill %1",
           [on("n2", "echo 'MaxStartups 3:100:3' >> /etc/ssh/sshd_config; kill -HUP $(cat /run/sshd.pid)")], own_lab=True, mpi="openmpi4",
           files={"hold.py": "import socket, time\nheld = [socket.create_connection(('n2', 22)) for _ in range(8)]\nopen('held', 'w').close()\ntime.sleep(60)\n"}),
]
