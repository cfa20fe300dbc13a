"""Flags of other launchers, tested with the binary: rejected ones without any host, and whole command lines of their users on two
hosts."""
import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from tests.schemas import described
from tests.waiting import patient

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def run(muster, *words, command="run"):
    return subprocess.run([muster, command, *words], capture_output=True, text=True, timeout=patient(30), stdin=subprocess.DEVNULL)


def test_the_docs_have_every_habit(root):
    """docs/habits.md names every flag in the sources. habits_test.cpp tests what each flag does."""
    tables = "".join((root / f"src/cli/{name}.cpp").read_text() for name in ("habit_table", "cluster_flags", "job_flags", "run_flags"))
    rows = re.findall(r'(?:Habit\{|\.foreign = )((?:\s*"[^"]*")+)', tables)
    rows += re.findall(r'\{((?:\s*"[^"]*")+),\s*\d(?:, true)?\}', (root / "src/engines/table.cpp").read_text())
    names = [name for row in rows for name in "".join(re.findall(r'"([^"]*)"', row)).split()]
    assert {"--mca", "--nodelist", "--npernode", "-Q", "--overlap", "--numa-binding", "--pty"} <= set(names)
    assert len(names) > 100
    docs = (root / "docs/habits.md").read_text()
    assert [name for name in names if not re.search(rf"`{name}[` =]", docs)] == []


def rows_of_page(root):
    """Yields each flag in a table of the page, with its value if it has one, and whether muster rejects it."""
    page = (root / "docs/habits.md").read_text()
    for row in re.findall(r"^\| (`.*) \|$", page.split("## One meaning per flag")[0], flags=re.M):
        flags, meaning = row.split(" | ", 1)
        for words in re.findall(r"`(-[^`]*)`", flags):
            yield words, meaning.startswith(("rejected", "`--engine"))


# Values for flags whose entry on the page has none and which would reject a number.
VALUES = {"--output": "a.txt", "--tee": "0:1", "-x": "NAME", "--env": "NAME", "--genvlist": "NAME", "--envlist": "NAME",
          "--bind-to": "core", "--map-by": "node", "--cpu-bind": "core", "--master-addr": "198.18.1.1",
          **dict.fromkeys(("--host", "-hosts", "-w", "--nodelist", "--hostlist"), "a,b"),
          **dict.fromkeys(("--hostfile", "-f", "--machinefile", "--nodefile", "-F"), "hosts"), "--include": "a", "--exclude": "b"}
# Flags that only work with muster run, only in pods, or before a program. Other tests cover them.
ELSEWHERE = {"--dry-run", "--node-rank", "-m"}


def test_every_flag_of_the_page_does_what_it_says(root, muster, tmp_path):
    """Tries each flag with muster config, which takes the flags of run and contacts no host."""
    (tmp_path / "hosts").write_text("a slots=4\nb slots=4\n")
    (tmp_path / "muster.yaml").write_text("hosts: a:4,b:4\n")

    def ended(*words):
        return subprocess.run([muster, "config", *words, "--", "true"], capture_output=True, text=True, timeout=patient(30), cwd=tmp_path,
                              env={"PATH": PATH, "HOME": str(tmp_path), "NAME": "value", "A": "1"})

    rows = list(rows_of_page(root))
    assert len(rows) > 150
    wrong = []
    for typed, is_rejected in rows:
        words = [word.replace("HOST:PORT", "a:29500").replace("MIN:MAX", "1:2") for word in typed.split()]
        if words[0] in ELSEWHERE:
            continue
        found = ended(*words)
        if missing := re.search(r"needs (a|\d) value", found.stderr):
            found = ended(*words, *[VALUES.get(words[0], "2")] * (1 if missing[1] == "a" else int(missing[1])))
        explained = found.returncode == 2 and "hint: " in found.stderr and "has no flag" not in found.stderr
        if not (explained if is_rejected else found.returncode == 0):
            wrong.append((typed, found.stderr))
    assert wrong == []


REFUSED = [
    ("-H n1 --rank-by node -- true", "--engine-arg=--rank-by --engine-arg=node"),
    ("-H n1 -mca btl tcp --engine mpich -- true", "-mca is a flag of openmpi, and --engine mpich was given"),
    ("-H n1 --log_dir d -- true", "muster logs RUN --rank N"),
    ("-H n1 --no_such_flag -- true", "--engine-arg=--no-such-flag"),
    ("-H n1 --nproc-per-nod 2 -- true", "did you mean --nproc-per-node?"),
    ("-H n1 --rdzv-endpont a -- true", "did you mean --rdzv-endpoint?"),
    ("-H n1 --timeout 5x -- true", "--timeout: '5x' is not a length of time; write 90 (seconds), 30s, 5m, 2h or 30d"),
    ("-H n1 --timeout -- true", "--timeout needs a value: --timeout SECONDS"),
    ("-H n1 --node-rank 1 -- true", "--node-rank 1 works only in a pod, and muster does not run in one"),
    ("-H n1 --nnodes 3:2 -- true", "'3:2' is neither a number of hosts nor torchrun's MIN:MAX"),
    ("-H n1 --nnodes 2:3 -- true", "you asked for 2 hosts but named 1"),
    ("-H n1 --nnodes 0 -- true", "'0' is neither"),
    ("-H n1 --nproc_per_node=xpu -- true", "'xpu' is neither a number nor auto, cpu or gpu"),
    ("-H n1 -m --no-python -- train", "-m and --no-python contradict each other"),
    ("-H n1 -x n3 -- true", "--exclude n3"),
    ("-H n1 --json -- true", "--json requires --dry-run"),
    ("-H n1 --engine lsf -- true", "--engine: lsf is not one of openmpi, mpich, "),
]


@pytest.mark.parametrize("line, said", REFUSED)
def test_what_is_refused_names_the_spelling(muster, line, said):
    ended = run(muster, *line.split())
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert said in ended.stderr


def test_check_has_the_same_habits_and_other_commands_none(muster):
    assert "--engine-arg=--rank-by" in run(muster, "-H", "n1", "--rank-by", "node", command="check").stderr
    assert "--engine-arg" not in run(muster, "--rank-by", "node", command="hosts").stderr


def test_values_of_variables_are_hidden_in_argv(muster):
    """Other users cannot see the values in their process lists. A host file that never ends keeps muster running meanwhile."""
    words = ["-xA=hush1", "-x", "B=hush2", "--export=C=hush3", "--export", "D=hush4", "--env=E=hush5"]
    with subprocess.Popen([muster, "run", *words, "-f", "/dev/stdin", "--", "true"], stdin=subprocess.PIPE) as held:
        argv, end = "", time.monotonic() + patient(20)
        while argv.count("*****") < len(words) - 2:
            assert held.poll() is None and time.monotonic() < end, argv
            argv = Path(f"/proc/{held.pid}/cmdline").read_text()
        held.kill()
    assert "hush" not in argv


@pytest.fixture(scope="module")
def lab(module_lab_up):
    lab = module_lab_up(hosts=2)
    lab.open_doors()
    for host in ("launcher", "n1", "n2"):
        lab.shell(host, "cd && printf 'n1 slots=2\\nn2 slots=2\\n' > hosts && printf '#!/bin/sh\\n' > own.py && chmod +x own.py && echo > train.py")
    return lab


def planned(lab, line):
    """Returns Open MPI's command line: the value of --host, and all words."""
    words = ["env", f"PATH={PATH}", "GREETING=hello", "muster", "run", "--engine", "openmpi", "--dry-run", "--json", *line.split()]
    ended = lab.exec("launcher", "sh", "-c", 'cd && exec "$@"', "sh", *words)
    assert ended.returncode == 0, ended.stderr
    (command,) = described("launch-plan", json.loads(ended.stdout))["commands"]
    argv = command["argv"]
    return argv[argv.index("--host") + 1], argv


LINES = {
    "torchrun": ("-H n1,n2 --nnodes 2 --nproc_per_node=2 --rdzv_backend c10d --rdzv_endpoint 198.18.1.1:29700 --rdzv_id 7 --max_restarts 0 "
                 "--tee 3 -- train.py --epochs 3", "n1:2,n2:2", "--master 198.18.1.1:29700 -- python3 train.py --epochs 3"),
    "mpirun": ("-np 3 -host n1:2,n2:2 --tag-output --allow-run-as-root -bind-to core -x GREETING -- true", "n1:2,n2:1", "--bind-to core"),
    "mpirun's parameters": ("-np 2 -host n1:2 -mca btl self,vader -mca btl_base_verbose 1 -- true", "n1:2", "--mca btl self,vader --mca btl_base_verbose 1"),
    "mpirun, more than slots": ("-np 6 --oversubscribe -hostfile hosts -- true", "n1:3,n2:3", "-- true"),
    "hydra": ("-ppn 2 -hosts n1,n2 -launcher ssh -prepend-rank -genvlist GREETING -- true", "n1:2,n2:2", "-x GREETING"),
    "srun": ("-N 1 --ntasks-per-node=2 --nodelist=n[1-2] -l --cpu-bind=none --export=GREETING=hi -- true", "n1:2", "-x GREETING"),
    "deepspeed": ("--hostfile hosts --num_nodes 1 --num_gpus 2 --include n2 -- train.py", "n2:2", "-- python3 train.py"),
    "a module": ("-w n2 -m package.train -- --epochs 3", "n2:1", "-- python3 -m package.train --epochs 3"),
    "its own interpreter": ("-H n1 -- ./own.py", "n1:1", "-- ./own.py"),
}


@pytest.mark.lab
@pytest.mark.parametrize("line, hosts, words", LINES.values(), ids=LINES)
def test_whole_lines_mean_what_they_mean_there(lab, line, hosts, words):
    placed, argv = planned(lab, line)
    assert placed == hosts
    assert words in " ".join(argv)


@pytest.mark.lab
def test_auto_is_a_rank_for_each_cpu_where_there_is_no_gpu(lab):
    cpus = lab.shell("n1", "nproc").strip()
    assert planned(lab, "-H n1,n2 --nproc-per-node auto -- true")[0] == f"n1:{cpus},n2:{cpus}"
    refused = lab.exec("launcher", "muster", "run", "-H", "n1", "--nproc-per-node", "gpu", "--", "true")
    assert refused.returncode == 2 and "n1 has no GPU" in refused.stderr


@pytest.mark.lab
def test_verbose_says_what_was_decided(lab):
    words = ["env", f"PATH={PATH}", "muster", "run", "-v", "--dry-run", "-H", "n1,n2", "--", "true"]
    assert "2 ranks on 2 hosts" in lab.exec("launcher", *words).stderr


@pytest.mark.lab
def test_no_python_starts_the_script_itself(lab):
    words = ["env", f"PATH={PATH}", "muster", "run", "--no-python", "-H", "n1", "--", "./train.py"]
    ended = lab.exec("launcher", "sh", "-c", 'cd && exec "$@"', "sh", *words)
    assert ended.returncode == 126 and "is not executable" in ended.stderr
