"""The launcher was called incorrectly, or does not find the programs that it must start on the
hosts."""
from tests.explain.recipes.recipe import Recipe, on
from tests.run.launchers import MPI

ON_HOSTS = {"openmpi4": "mpirun -np 2 -H n1,n2", "openmpi5": "mpirun -np 2 -H n1,n2", "mpich": "mpiexec -n 2 -hosts n1,n2",
            "intel": f"I_MPI_ROOT={MPI['intel']} mpiexec -n 2 -ppn 1 -hosts n1,n2"}
FOR_ARM = "python3 -c \"b = bytearray(open('/bin/true', 'rb').read()); b[18:20] = b'\\xb7\\0'; open('/tmp/train', 'wb').write(b)\"; chmod 755 /tmp/train"


def started(id, name, mpi, words, **more):
    """Returns a recipe in which this MPI's launcher starts `words` on two hosts."""
    return Recipe(id, f"{name} ({mpi})", f"{more.pop('before', '')}{ON_HOSTS[mpi]} {words}", mpi=mpi, **more)


def all_of(mpis, id, name, words, **more):
    return [started(id, name, mpi, words, **more) for mpi in mpis.split()]


def wrong_hostfile(name, mpi, command, content=None):
    id = "ompi-hostfile-parse" if mpi.startswith("openmpi") else "intelmpi-hostfile-error"
    return Recipe(id, f"{name} ({mpi})", f"cd HERE; I_MPI_ROOT={MPI['intel']} {command}", mpi=mpi, files={"hosts.txt": content} if content else None)


RECIPES = [
    Recipe("not-enough-slots", "more ranks than slots (openmpi4)", "mpirun -np 8 -H n1:2,n2:2 hostname", mpi="openmpi4", ci=True),
    Recipe("not-enough-slots", "more ranks than slots (openmpi5)", "mpirun -np 8 -H n1:2,n2:2 hostname", mpi="openmpi5"),
    *[Recipe("mpirun-as-root-refused", f"root calls mpirun ({mpi})", "cat /tmp/said", [on("launcher", f"PATH={MPI[mpi]}/bin:$PATH mpirun hostname > /tmp/said 2>&1 || true")],
             [on("launcher", "rm /tmp/said")]) for mpi in ("openmpi4", "openmpi5")],
    wrong_hostfile("a hostfile that is not there", "openmpi4", "mpirun --hostfile hosts.txt hostname"),
    wrong_hostfile("a hostfile that is not there", "openmpi5", "mpirun --hostfile hosts.txt hostname"),
    wrong_hostfile("a hostfile that is not there", "mpich", "mpiexec -f hosts.txt hostname"),
    wrong_hostfile("a hostfile that is not there", "intel", "mpiexec -f hosts.txt hostname"),
    wrong_hostfile("a hostfile with Windows line ends", "openmpi5", "mpirun --hostfile hosts.txt hostname", "n1 slots=2\r\nn2 slots=2\r\n"),
    wrong_hostfile("a hostfile of Open MPI", "mpich", "mpiexec -f hosts.txt hostname", "n1 slots=2\nn2 slots=2\n"),
    wrong_hostfile("a hostfile of Open MPI", "intel", "mpiexec -f hosts.txt hostname", "n1 slots=2\nn2 slots=2\n"),
    wrong_hostfile("a hostfile of MPICH", "openmpi4", "mpirun --hostfile hosts.txt hostname", "n1:2\nn2:2\n"),

    *all_of("openmpi4 openmpi5 mpich intel", "remote-exe-not-found", "a program that is nowhere", "./train", says="train"),
    *[started("remote-exe-not-found", "a program that one host lacks", mpi, "/tmp/train", make=[on("n1", "printf '#!/bin/sh\\n' > /tmp/train; chmod 755 /tmp/train")],
              undo=[on("n1", "rm /tmp/train")], says="/tmp/train( was not found on n2)?") for mpi in ("openmpi4", "mpich")],
    started("remote-exe-not-found", "a script that is nowhere", "openmpi4", "python3 train.py", says="train.py"),
    *[started("program-not-executable", "a script without its x bit", mpi, "/tmp/train.sh", make=[on("n1,n2", "echo hostname > /tmp/train.sh")],
              undo=[on("n1,n2", "rm /tmp/train.sh")], says="/tmp/train.sh") for mpi in ("mpich", "intel")],
    *[started("exec-format-error", "a program for another CPU", mpi, "/tmp/train", make=[on("n1,n2", FOR_ARM)], undo=[on("n1,n2", "rm /tmp/train")])
      for mpi in ("openmpi4", "openmpi5", "mpich", "intel")],
    started("script-interpreter-missing", "a script whose interpreter is not there", "openmpi4", "HERE/train", files={"train": "#!/opt/venv/bin/python\nprint('up')\n"}),
    started("script-interpreter-missing", "a script whose env does not find Python", "mpich", "HERE/train", files={"train": "#!/usr/bin/env python3.6\nprint('up')\n"}),
    started("remote-cwd-missing", "a working directory that only the launcher has", "openmpi4", "-wdir ~/project hostname", before="mkdir -p project; cd project; ", says="on n[12]"),
    started("remote-shared-library-missing", "a library that no host has", "openmpi5", "/tmp/train",
            make=[on("n1,n2", "cd /tmp; echo 'int f() { return 0; }' | gcc -shared -o libmodel.so.1 -Wl,-soname,libmodel.so.1 -xc -; "
                              "echo 'int f(); int main() { return f(); }' | gcc -o train -xc - -xnone ./libmodel.so.1; rm libmodel.so.1")],
            undo=[on("n1,n2", "rm /tmp/train")], says="libmodel.so.1"),
    started("remote-daemon-not-in-path", "hosts that have Open MPI elsewhere", "openmpi4", "--prefix /opt/openmpi hostname"),
    started("remote-daemon-not-in-path", "hosts that have Open MPI elsewhere", "openmpi5", "--prefix /opt/openmpi hostname"),
    Recipe("remote-daemon-not-in-path", "hosts that have no MPICH", "cp -r bin-of-mpich /tmp/mpich && /tmp/mpich/mpiexec -n 2 -hosts n1,n2 hostname; rm -r /tmp/mpich".replace(
        "bin-of-mpich", f"{MPI['mpich']}/bin")),
    Recipe("intelmpi-bstrap-proxy", "hosts that have no Intel MPI", f"mkdir /tmp/impi; cp -r {MPI['intel']}/bin {MPI['intel']}/etc /tmp/impi; "
           "I_MPI_ROOT=/tmp/impi PATH=/tmp/impi/bin:$PATH mpiexec -n 2 -ppn 1 -hosts n1,n2 hostname; rm -r /tmp/impi"),
    Recipe("mpi-launcher-of-another-mpi", "a program of MPICH under mpirun of Open MPI", "/usr/bin/mpirun -H n1,n2 PROGRAM", mpi="mpich"),
    Recipe("all-ranks-zero", "a program of Open MPI 5 under mpiexec of MPICH", f"{MPI['mpich']}/bin/mpiexec -hosts n1,n2 PROGRAM", mpi="openmpi5"),
]
