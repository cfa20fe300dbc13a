"""Names that do not resolve, or to the wrong address."""
from tests.explain.recipes.recipe import Recipe, lab, on
from tests.explain.recipes.training import TRAIN, torchrun

WITHOUT_N2 = "cp /etc/hosts /root/kept; grep -v n2 /root/kept > /etc/hosts"
RANK = "MASTER_ADDR=n1 MASTER_PORT=29500 RANK={0} WORLD_SIZE=2 timeout 60 TORCH/python HERE/train.py"
FETCH = "import urllib.request\nurllib.request.urlopen('https://model-hub.example/weights')\n"

RECIPES = [
    Recipe("peer-hostname-unresolvable", "a host that no name server knows", "mpirun -H n1,n9 hostname", mpi="openmpi4", says="n9", ci=True),
    Recipe("peer-hostname-unresolvable", "a master that no name server knows", "ssh n2 MASTER_ADDR=n9 MASTER_PORT=29500 RANK=1 WORLD_SIZE=2 timeout 60 TORCH/python HERE/train.py",
           files={"train.py": TRAIN}, says="n9", within=70),
    Recipe("hostname-resolves-to-loopback", "Gloo's own names are those of the loopback", torchrun("HERE/train.py"), [lab("break", "n1,n2", "loopback-name")], [on("n1,n2", "sed -i 1d /etc/hosts")],
           files={"train.py": TRAIN}, within=90),
    Recipe("hostname-resolves-to-loopback", "Gloo's own name does not resolve", f"ssh n1 {RANK.format(0)} & ssh n2 {RANK.format(1)}; wait",
           [on("n2", WITHOUT_N2)], [on("n2", "cp /root/kept /etc/hosts")], files={"train.py": TRAIN}, within=70, follows=("hostname-unresolvable-gloo-fallback",)),
    Recipe("peer-hostname-unresolvable", "torchrun's own name does not resolve", "ssh n2 timeout 40 TORCH/torchrun --nproc-per-node 2 HERE/train.py",
           [on("n2", WITHOUT_N2)], [on("n2", "cp /root/kept /etc/hosts")], files={"train.py": TRAIN}, says="n2", benign=("omp-num-threads-one",)),
    Recipe("internet-name-unresolvable", "a script that downloads without the internet", "mpirun -H n1,n2 python3 HERE/fetch.py", mpi="openmpi4", files={"fetch.py": FETCH}),
]
