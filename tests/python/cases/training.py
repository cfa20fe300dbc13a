"""DistributedDataParallel with every option, and other ways of training over a group."""
import copy
import shutil
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from . import case

STEPS = 3


class Net(nn.Module):
    """Two layers with a batch normalisation between them. `extra` adds a layer that the output does not use."""

    def __init__(self, extra=False):
        super().__init__()
        self.one, self.two = nn.Linear(6, 8), nn.Linear(8, 3)
        self.norm = nn.BatchNorm1d(8)
        self.extra = nn.Linear(4, 4) if extra else None

    def forward(self, given):
        return self.two(self.norm(torch.relu(self.one(given))))


def model(**options):
    torch.manual_seed(11)
    return Net(**options)


def batch(rank, step, rows=4):
    torch.manual_seed(100 * step + rank)
    return torch.randn(rows, 6), torch.randn(rows, 3)


def train(wrapped, rank, optimizer=None, steps=STEPS):
    optimizer = optimizer or torch.optim.SGD(wrapped.parameters(), lr=0.1)
    for step in range(steps):
        given, wanted = batch(rank, step)
        optimizer.zero_grad()
        nn.functional.mse_loss(wrapped(given), wanted).backward()
        optimizer.step()
    return wrapped


def weights(module):
    """Returns the weights after checking that every rank has the same ones."""
    flat = torch.cat([p.detach().float().flatten() for p in module.parameters()])
    others = [torch.empty_like(flat) for _ in range(dist.get_world_size())]
    dist.all_gather(others, flat)
    assert all(torch.equal(other, flat) for other in others)
    return flat


OPTIONS = {
    "default": {},
    "small buckets": {"bucket_cap_mb": 0.0001},
    "gradient_as_bucket_view": {"gradient_as_bucket_view": True},
    "static_graph": {"static_graph": True},
    "broadcast_buffers off": {"broadcast_buffers": False},
    "find_unused_parameters": {"find_unused_parameters": True},
    "no initial broadcast": {"init_sync": False},
    "forward_sync_buffers off": {"forward_sync_buffers": False},
    "batched_grad_copy": {"batched_grad_copy": True},
    "bucket_cap_mb_list": {"bucket_cap_mb_list": [0.0001, 0.001]},
    "skip_all_reduce_unused_params": {"find_unused_parameters": True, "skip_all_reduce_unused_params": True},
}
for label, given_options in OPTIONS.items():
    @case(f"ddp[{label}]")
    def ddp(rank, size, options=given_options):
        extra = options.get("find_unused_parameters", False)
        return weights(train(DistributedDataParallel(model(extra=extra), **options), rank))


@case("ddp[every rank begins with the first one's weights]")
def ddp_initial_broadcast(rank, size):
    torch.manual_seed(rank)
    return weights(DistributedDataParallel(Net()))


@case("ddp[every rank has the first one's buffers]")
def ddp_buffers(rank, size):
    wrapped = DistributedDataParallel(model())
    wrapped.module.norm.running_mean.fill_(float(rank + 1))
    wrapped.eval()(batch(rank, 0)[0])
    assert wrapped.module.norm.running_mean.eq(1).all()


@case("ddp[equals one process with all the data]")
def ddp_equals_one_process(rank, size):
    def plain():
        torch.manual_seed(5)
        return nn.Linear(6, 3)

    alone, wrapped = plain(), DistributedDataParallel(plain())
    for step in range(STEPS):
        parts = [batch(other, step) for other in range(size)]
        for module, (given, wanted) in ((alone, map(torch.cat, zip(*parts, strict=True))), (wrapped, parts[rank])):
            module.zero_grad()
            nn.functional.mse_loss(module(given), wanted).backward()
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter -= 0.1 * parameter.grad
    for one, other in zip(alone.parameters(), wrapped.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    return weights(wrapped)


@case("ddp[no_sync]")
def ddp_no_sync(rank, size):
    wrapped = DistributedDataParallel(model())
    given, wanted = batch(rank, 0)
    with wrapped.no_sync():
        nn.functional.mse_loss(wrapped(given), wanted).backward()
    mine = wrapped.module.one.weight.grad.clone()
    nn.functional.mse_loss(wrapped(given), wanted).backward()
    assert not torch.equal(mine, wrapped.module.one.weight.grad)
    return wrapped.module.one.weight.grad


@case("ddp[uneven inputs: join]")
def ddp_join(rank, size):
    wrapped = DistributedDataParallel(nn.Linear(6, 3))
    with torch.no_grad():
        for parameter in wrapped.parameters():
            parameter.fill_(0.5)
    with Join([wrapped]):
        train(wrapped, rank, steps=rank + 1)
    return weights(wrapped)


HOOKS = {
    "allreduce_hook": (default_hooks.allreduce_hook, lambda: None),
    "powerSGD_hook": (powerSGD_hook.powerSGD_hook, lambda: powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)),
}
for label, (hook, make_state) in HOOKS.items():
    @case(f"ddp[{label}]")
    def ddp_hook(rank, size, hook=hook, make_state=make_state):
        wrapped = DistributedDataParallel(model())
        wrapped.register_comm_hook(make_state(), hook)
        return weights(train(wrapped, rank))


@case("ddp[a hook of one's own]")
def ddp_own_hook(rank, size):
    def halved(state, bucket):
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda done: done.value()[0] / (2 * size))

    wrapped = DistributedDataParallel(model())
    wrapped.register_comm_hook(None, halved)
    return weights(train(wrapped, rank))


def near_uncompressed(wrapped, rank):
    """Checks that the weights are close to those without compression. They are not equal, because half of the bits of each gradient are lost in
    transfer."""
    torch.testing.assert_close(weights(train(wrapped, rank)), weights(train(DistributedDataParallel(model()), rank)), rtol=0.02, atol=0.002)


@case("ddp[fp16_compress_hook]")
def ddp_fp16_hook(rank, size):
    wrapped = DistributedDataParallel(model())
    wrapped.register_comm_hook(None, default_hooks.fp16_compress_hook)
    near_uncompressed(wrapped, rank)


@case("ddp[a built-in hook]")
def ddp_builtin_hook(rank, size):
    wrapped = DistributedDataParallel(model())
    wrapped._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    near_uncompressed(wrapped, rank)


@case("ddp[in a group]")
def ddp_in_a_group(rank, size):
    group = dist.new_group([0, size - 1])
    if rank not in (0, size - 1):
        return None
    return train(DistributedDataParallel(model(), process_group=group), rank).module.one.weight.detach()


@case("ddp[over a device mesh]")
def ddp_over_a_mesh(rank, size):
    return weights(train(DistributedDataParallel(model(), device_mesh=init_device_mesh("cpu", (size,))), rank))


@case("ddp[gradient clipping and scheduler]")
def ddp_clipped(rank, size):
    wrapped = DistributedDataParallel(model())
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for step in range(STEPS):
        given, wanted = batch(rank, step)
        optimizer.zero_grad()
        nn.functional.mse_loss(wrapped(given), wanted).backward()
        nn.utils.clip_grad_norm_(wrapped.parameters(), 0.1)
        optimizer.step()
        scheduler.step()
    return weights(wrapped)


@case("ddp[bf16 autocast]")
def ddp_autocast(rank, size):
    wrapped = DistributedDataParallel(model())
    with torch.autocast("cpu", torch.bfloat16):
        return weights(train(wrapped, rank))


@case()
def zero_redundancy_optimizer(rank, size):
    wrapped = DistributedDataParallel(model())
    optimizer = ZeroRedundancyOptimizer(wrapped.parameters(), torch.optim.Adam, lr=0.01)
    got = weights(train(wrapped, rank, optimizer))
    plain = DistributedDataParallel(model())
    torch.testing.assert_close(got, weights(train(plain, rank, torch.optim.Adam(plain.parameters(), lr=0.01))))
    optimizer.consolidate_state_dict(to=0)
    assert rank != 0 or len(optimizer.state_dict()["state"]) == len(list(plain.parameters()))
    return got


@case()
def zero_redundancy_optimizer_in_bucket_views(rank, size):
    wrapped = DistributedDataParallel(model())
    optimizer = ZeroRedundancyOptimizer(wrapped.parameters(), torch.optim.SGD, parameters_as_bucket_view=True, lr=0.1)
    return weights(train(wrapped, rank, optimizer))


def sharded(size):
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(12)
    whole = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    alone = copy.deepcopy(whole)
    mesh = init_device_mesh("cpu", (size,))
    fully_shard(whole[0], mesh=mesh)
    fully_shard(whole, mesh=mesh)
    return whole, alone


@case()
def fsdp2_fully_shard(rank, size):
    """The weights must equal those of a single process that sees all data."""
    whole, alone = sharded(size)
    for module, parts in ((whole, [rank]), (alone, range(size))):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        for step in range(STEPS):
            pairs = [batch(other, step) for other in parts]
            given, wanted = map(torch.cat, zip(*pairs, strict=True))
            optimizer.zero_grad()
            nn.functional.mse_loss(module(given), wanted).backward()
            optimizer.step()
    got = [parameter.full_tensor().detach() for parameter in whole.parameters()]
    for one, other in zip(got, alone.parameters(), strict=True):
        torch.testing.assert_close(one, other.detach())
    return got


def common_folder(rank):
    name = [tempfile.mkdtemp(prefix="muster-checkpoint-") if rank == 0 else None]
    dist.broadcast_object_list(name, src=0)
    return Path(name[0])


@case()
def distributed_checkpoint(rank, size):
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict

    folder = common_folder(rank)
    try:
        save_and_load(checkpoint, get_model_state_dict, set_model_state_dict, folder, size)
    finally:
        dist.barrier()
        if rank == 0:
            shutil.rmtree(folder)


def save_and_load(checkpoint, get_model_state_dict, set_model_state_dict, folder, size):
    whole, alone = sharded(size)
    checkpoint.save({"model": get_model_state_dict(whole)}, checkpoint_id=folder)
    other, _ = sharded(size)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    state = {"model": get_model_state_dict(other)}
    checkpoint.load(state, checkpoint_id=folder)
    set_model_state_dict(other, state["model"])
    for one, two in zip(other.parameters(), alone.parameters(), strict=True):
        assert torch.equal(one.full_tensor(), two)


@case()
def model_averaging(rank, size):
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager

    module = nn.Linear(2, 2)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(float(rank))
            parameter.grad = torch.zeros_like(parameter)
    PeriodicModelAverager(period=2, warmup_steps=0).average_parameters(module.parameters())
    assert all(parameter.eq((size - 1) / 2).all() for parameter in module.parameters())


@case()
def pipeline_of_stages(rank, size):
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    torch.manual_seed(13)
    layers = [nn.Linear(4, 4) for _ in range(size)]
    given = torch.randn(4, 4)
    stage = PipelineStage(layers[rank], rank, size, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=2)
    got = schedule.step(given) if rank == 0 else schedule.step()
    if rank == size - 1:
        torch.testing.assert_close(got, nn.Sequential(*layers)(given))
        return got.detach()


@case()
def sampler_gives_every_item_once(rank, size):
    data = torch.utils.data.TensorDataset(torch.arange(4 * size))
    sampler = torch.utils.data.DistributedSampler(data, shuffle=True, seed=1)
    mine = torch.cat([item for (item,) in torch.utils.data.DataLoader(data, batch_size=2, sampler=sampler)])
    everybody = [torch.empty_like(mine) for _ in range(size)]
    dist.all_gather(everybody, mine)
    assert sorted(torch.cat(everybody).tolist()) == list(range(4 * size))


@case()
def loader_with_processes_of_its_own(rank, size):
    """The loader's forked processes must neither call MPI nor finalise it."""
    data = torch.utils.data.TensorDataset(torch.arange(8))
    got = torch.cat([item for (item,) in torch.utils.data.DataLoader(data, batch_size=2, num_workers=2)])
    total = got.sum()
    dist.all_reduce(total)
    assert total == size * 28
