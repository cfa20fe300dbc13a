"""Ports that another process uses."""
from tests.explain.recipes.recipe import Recipe, lab, on
from tests.explain.recipes.training import TRAIN

HELD = "kill $(ss -Hltnp sport = :{0} | grep -o 'pid=[0-9]*' | cut -d= -f2)"
SERVER = "setsid -f python3 HERE/server.py >/dev/null 2>&1 </dev/null; for i in $(seq 100); do ss -Hltn sport = :29610 | grep -q . && exit; sleep 0.2; done"
GREETS = """import socketserver

class Greeting(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"220 mail.example ready\\r\\n")
        self.request.recv(100)

socketserver.ThreadingTCPServer(("", 29610), Greeting).serve_forever()
"""
RANK = "MASTER_ADDR=n1 MASTER_PORT={0} RANK={1} WORLD_SIZE=2 timeout 60 TORCH/python HERE/train.py"

RECIPES = [
    Recipe("somaxconn-too-small", "a short queue for the connections of a store", "for rank in 0 1 2 3; do ssh n1 " + RANK.format(29500, "$rank").replace("SIZE=2", "SIZE=4") + " & done; wait",
           [on("n1", "sysctl -qw net.core.somaxconn=2")], [on("n1", "sysctl -qw net.core.somaxconn=4096")], files={"train.py": TRAIN}),
    Recipe("master-port-in-use", "torchrun's master port is taken", "ssh n1 timeout 60 TORCH/torchrun --nproc-per-node 1 --master-port 29600 HERE/train.py", [lab("break", "n1", "port", "29600")],
           [on("n1", HELD.format(29600))], files={"train.py": TRAIN}, says="29600"),
    Recipe("master-port-in-use", "the master port of muster run is taken",
           "muster run --force -H n1,n2 --master-port 29620 --activate 'PATH=TORCH:$PATH' -- python HERE/train.py", [lab("break", "n1", "port", "29620")], [on("n1", HELD.format(29620))],
           files={"train.py": TRAIN}, mpi="openmpi5", explains="RUN", says="29620"),
    Recipe("master-port-ephemeral-collision", "a master port of outgoing connections is taken", f"ssh n1 {RANK.format(45600, 0)}", [lab("break", "n1", "port", "45600")],
           [on("n1", HELD.format(45600))], files={"train.py": TRAIN}, says="45600"),
    Recipe("wrong-service-on-master-port", "a mail server on the master port", f"ssh n2 {RANK.format(29610, 1)}", [on("n1", SERVER)], [on("n1", HELD.format(29610))], files={"train.py": TRAIN, "server.py": GREETS},
           within=70, says="29610"),
]
