"""`muster run --sync`: the hosts run the files that were edited on the launcher."""
import pytest

pytestmark = pytest.mark.lab

TRAIN = """import os, sys
rank = os.environ["RANK"]
print("{version}", os.getcwd(), *sys.argv[1:])
open("checkpoint-" + rank, "w").write("{version}")
open("state.txt", "w").write("of a rank")
"""


@pytest.fixture(scope="module")
def module_cluster(module_lab_up, make_cluster, engines, tmp_path_factory):
    share = tmp_path_factory.mktemp("share")
    share.chmod(0o1777)
    cluster = make_cluster(module_lab_up(hosts=2, share=share))
    cluster.share = share
    return cluster


def run_in(cluster, engine, folder, *words):
    run = cluster.launch(["env", "-C", folder, "muster", "run", "--engine", "openmpi", *words], engine)
    assert run.end(30) == 0, run.said()
    return run


def ranks_said(run):
    return sorted(line for line in run.out if line.startswith("["))


def test_hosts_run_what_was_edited_and_keep_what_ranks_wrote(cluster, engines):
    lab, engine = cluster.lab, engines["openmpi5"]
    project = f"/home/{lab.user}/project"
    lab.shell("launcher", f"""mkdir -p {project}/package {project}/build && cd {project} && printf 'build/\\n*.log\\n' > .gitignore
        echo secret.txt > .musterignore; touch package/model.py build/big run.log secret.txt -- "-rf
x"; touch -d '1 hour ago' state.txt""")
    lab.write("launcher", f"{project}/train.py", TRAIN.format(version="one"))
    first = run_in(cluster, engine, project, "-H", "n1,n2", "--sync", "train.py", "--sync", "--", "-H", "x")
    assert ranks_said(first) == [f"[n{i + 1}:{i}] one {project} --sync -- -H x" for i in range(2)], first.said()
    assert "muster: sync: n[1-2] (2 hosts): 6 files" in first.errors, first.said()
    for host in lab.hosts:
        there = lab.exec(host, "env", "-C", project, "find", ".", "-mindepth", "1", "-print0").stdout.split("\0")
        assert {"./package/model.py", "./train.py", "./-rf\nx"} <= set(there)
        assert not {"./build", "./run.log", "./secret.txt"} & set(there)

    lab.write("launcher", f"{project}/train.py", TRAIN.format(version="two").replace("open(", "# "))
    lab.shell("launcher", f"cd {project} && rm package/model.py && echo 'sync: true' > muster.yaml")
    second = run_in(cluster, engine, project, "-H", "n1,n2", "train.py")
    assert ranks_said(second) == [f"[n{i + 1}:{i}] two {project}" for i in range(2)], second.said()
    assert "muster: sync: n[1-2] (2 hosts): 2 files" in second.errors and "kept because the host's copy is newer: state.txt" in second.errors, second.said()
    for rank, host in enumerate(lab.hosts):
        assert lab.shell(host, f"cat {project}/checkpoint-{rank} {project}/state.txt") == "oneof a rank"
        lab.shell(host, f"test -e {project}/package/model.py")

    lab.write("launcher", f"{project}/train.py", TRAIN.format(version="three"))
    third = run_in(cluster, engine, project, "-H", "n1,n2", "--no-sync", "train.py")
    assert ranks_said(third) == ranks_said(second) and "muster: sync" not in third.errors, third.said()


def test_a_script_that_an_ignore_file_excludes_is_named_as_such(cluster, engines):
    lab, project = cluster.lab, f"/home/{cluster.lab.user}/ignoring"
    lab.shell("launcher", f"mkdir -p {project} && cd {project} && echo 'train*' > .gitignore && touch other.py")
    lab.write("launcher", f"{project}/train.py", "print('sent')\n")
    run = cluster.launch(["env", "-C", project, "muster", "run", "-H", "n1", "--sync", "train.py"], engines["openmpi5"])
    assert run.end(30) == 127 and "--sync left it out because of a line in .gitignore or .musterignore" in run.errors, run.said()
    lab.shell("launcher", f"echo '!train.py' > {project}/.musterignore")
    assert ranks_said(run_in(cluster, engines["openmpi5"], project, "-H", "n1", "--sync", "train.py")) == ["[n1:0] sent"]


def test_a_shared_folder_is_not_copied_onto_itself(cluster, engines):
    """With this machine among the hosts, muster copies nothing to a host that shares the folder."""
    lab, folder = cluster.lab, str(cluster.share)
    lab.write("launcher", f"{folder}/train.py", "import os; print(os.getcwd())\n")
    run = run_in(cluster, engines["openmpi5"], folder, "-H", "localhost,n1", "--sync", "train.py")
    assert ranks_said(run) == [f"[localhost:0] {folder}", f"[n1:1] {folder}"], run.said()
    assert "muster: sync: n1: same directory as on this machine; nothing copied" in run.errors, run.said()
    assert lab.shell("launcher", f"ls -A {folder}") == "train.py\n"


def test_a_host_without_rsync_gets_what_was_edited(cluster, engines):
    lab, project = cluster.lab, f"/home/{cluster.lab.user}/elsewhere"
    lab.shell("n1", "mv $(command -v rsync) /root/", root=True)
    lab.shell("launcher", f"mkdir -p {project}/package && touch {project}/package/model.py")
    for version in ("one", "two"):
        lab.write("launcher", f"{project}/train.py", TRAIN.format(version=version))
        run = run_in(cluster, engines["openmpi5"], project, "-H", "n1,n2", "--sync", "train.py")
        assert ranks_said(run) == [f"[n{i + 1}:{i}] {version} {project}" for i in range(2)], run.said()
        assert f"muster: sync: n[1-2] (2 hosts): {2 if version == 'one' else 1} file" in run.errors, run.said()
    assert lab.shell("n1", f"ls -A {project}") == "checkpoint-0\npackage\nstate.txt\ntrain.py\n"
