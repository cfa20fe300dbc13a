"""Programs for recipes of several topics: a short training script, and bare torchrun on several hosts, with ClusterShell's labels."""
TRAIN = """import datetime, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
ones = torch.ones(1)
dist.all_reduce(ones)
print(f"{ones.item():g} ranks")
dist.destroy_process_group()
"""


def torchrun(script, hosts="n1,n2", flags="", before=""):
    """Returns a command that starts one agent on each host. The agents meet on the first. `before` sets environment variables."""
    hosts = hosts.split(",")
    agent = (f"{before} TORCH/torchrun --nnodes {len(hosts)} --nproc-per-node 1 --rdzv-backend c10d --rdzv-id job --rdzv-endpoint {hosts[0]}:29400 {flags} "
             f"{script}")
    return f"clush -S -w {','.join(hosts)} '{agent}'"


RECIPES = []
