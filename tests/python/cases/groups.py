"""Groups, device meshes, and features that use them."""
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

from . import case
from .collectives import same


def summed(rank, group=None):
    tensor = torch.tensor([float(rank + 1)])
    dist.all_reduce(tensor, group=group)
    return tensor.item()


@case()
def what_the_world_is(rank, size):
    world = dist.group.WORLD
    assert (dist.get_rank(), dist.get_world_size()) == (rank, size) and dist.is_initialized()
    assert (world.rank(), world.size(), dist.get_process_group_ranks(world)) == (rank, size, list(range(size)))


@case()
def a_group_of_all(rank, size):
    got = summed(rank, dist.new_group())
    assert got == size * (size + 1) / 2
    return got


@case()
def a_group_of_some(rank, size):
    group = dist.new_group([0, size - 1])
    if rank not in (0, size - 1):
        assert group == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(group) == -1
        return None
    assert dist.get_world_size(group) == 2 and dist.get_group_rank(group, size - 1) == 1 and dist.get_global_rank(group, 1) == size - 1
    got = summed(rank, group)
    assert got == size + 1
    return got


@case()
def a_group_of_one(rank, size):
    groups = [dist.new_group([each]) for each in range(size)]
    assert summed(rank, groups[rank]) == rank + 1


@case()
def groups_of_different_sizes_at_once(rank, size):
    groups = {last: dist.new_group(list(range(last + 1))) for last in range(size)}
    tensors = {last: torch.tensor([float(rank + 1)]) for last in range(size) if rank <= last}
    # Each rank begins them in a different order.
    order = sorted(tensors, reverse=rank % 2 == 1)
    works = [dist.all_reduce(tensors[last], group=groups[last], async_op=True) for last in order]
    for work in works:
        work.wait()
    assert {last: tensor.item() for last, tensor in tensors.items()} == {last: (last + 1) * (last + 2) / 2 for last in tensors}


@case()
def an_order_of_ranks_of_ones_own(rank, size):
    group = dist.new_group(list(reversed(range(size))), sort_ranks=False)
    assert dist.get_rank(group) == size - 1 - rank
    into = torch.zeros(size)
    dist.all_gather_into_tensor(into, torch.tensor([float(rank)]), group=group)
    return same(into, torch.arange(float(size)).flip(0))


@case()
def new_subgroups(rank, size):
    mine, groups = dist.new_subgroups(group_size=1)
    assert len(groups) == size and summed(rank, mine) == rank + 1


@case()
def new_subgroups_by_enumeration(rank, size):
    mine, _ = dist.new_subgroups_by_enumeration([[0, 1], list(range(2, size))] if size > 2 else [[0, 1]])
    assert summed(rank, mine) == (3 if rank < 2 else sum(range(3, size + 1)))


@case()
def split_group(rank, size):
    group = dist.split_group(split_ranks=[[0, 1], list(range(2, size))] if size > 2 else [[0, 1]])
    assert dist.get_rank(group) == (rank if rank < 2 else rank - 2)
    assert summed(rank, group) == (3 if rank < 2 else sum(range(3, size + 1)))


@case()
def split_group_that_leaves_ranks_out(rank, size):
    group = dist.split_group(split_ranks=[[0]])
    assert (group is None) == (rank != 0)
    assert rank != 0 or summed(rank, group) == 1


@case()
def split_of_a_split(rank, size):
    outer = dist.split_group(split_ranks=[list(range(size))])
    inner = dist.split_group(outer, [[0, size - 1]])
    assert rank not in (0, size - 1) or summed(rank, inner) == size + 1


@case()
def splits_of_the_same_ranks(rank, size):
    """Each group gets a name of its own, even if another one with the same ranks was destroyed."""
    one, two = (dist.split_group(split_ranks=[list(range(size))]) for _ in range(2))
    dist.destroy_process_group(one)
    three = dist.split_group(split_ranks=[list(range(size))])
    assert summed(rank, two) == summed(rank, three) == size * (size + 1) / 2


@case()
def groups_destroyed_one_by_one(rank, size):
    for _ in range(3):
        group = dist.new_group()
        assert summed(rank, group) == size * (size + 1) / 2
        dist.destroy_process_group(group)
    return summed(rank)


@case()
def objects_in_a_group(rank, size):
    group = dist.new_group([0, size - 1])
    if rank in (0, size - 1):
        into = [None, None]
        dist.all_gather_object(into, f"rank {rank}", group=group)
        assert into == ["rank 0", f"rank {size - 1}"]


@case()
def broadcast_by_rank_of_the_group(rank, size):
    group = dist.new_group([size - 1, 0], sort_ranks=False)
    if rank in (0, size - 1):
        tensor = torch.tensor([float(rank)])
        dist.broadcast(tensor, group=group, group_src=0)
        assert tensor.item() == size - 1


@case()
def properties_of_a_group(rank, size):
    group = dist.new_group(group_desc="of the test")
    assert group.group_desc == "of the test" and group.name() == dist.get_backend()
    assert dist.get_pg_count() > 0


@case()
def device_mesh(rank, size):
    mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("dp",))
    assert mesh.get_local_rank("dp") == rank and summed(rank, mesh.get_group("dp")) == size * (size + 1) / 2


@case()
def device_mesh_of_two_dimensions(rank, size):
    shape = (2, 2) if size == 4 else (size, 1)
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("dp", "tp"))
    rows = torch.arange(1, size + 1).view(shape)
    at = divmod(rank, shape[1])
    assert summed(rank, mesh.get_group("dp")) == rows[:, at[1]].sum() and summed(rank, mesh["tp"].get_group()) == rows[at[0]].sum()


@case()
def dtensor_of_shards(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(float(size * 6)).view(size * 2, 3)
    sharded = distribute_tensor(whole, mesh, [Shard(0)])
    assert sharded.to_local().shape == (2, 3)
    assert sharded.sum().full_tensor() == whole.sum()
    return same(sharded.redistribute(mesh, [Replicate()]).to_local(), whole)


@case()
def dtensor_redistributed_to_another_dimension(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(float(size * size)).view(size, size)
    columns = distribute_tensor(whole, mesh, [Shard(0)]).redistribute(mesh, [Shard(1)])
    return same(columns.to_local(), whole[:, rank:rank + 1].contiguous())


@case()
def dtensor_product(rank, size):
    mesh = init_device_mesh("cpu", (size,))
    left, right = torch.arange(float(4 * size)).view(4, size), torch.arange(float(size * 3)).view(size, 3)
    product = distribute_tensor(left, mesh, [Shard(1)]) @ distribute_tensor(right, mesh, [Shard(0)])
    return same(product.full_tensor(), left @ right)


@case()
def tensor_parallel_layers(rank, size):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(3)
    whole = torch.nn.Sequential(torch.nn.Linear(4, 12), torch.nn.ReLU(), torch.nn.Linear(12, 4))
    given = torch.ones(2, 4)
    expected = whole(given).detach()
    split = parallelize_module(whole, init_device_mesh("cpu", (size,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    torch.testing.assert_close(split(given).detach(), expected)


FUNCTIONAL = {
    "all_reduce": lambda rank, size, group: (functional.all_reduce(torch.tensor([float(rank)]), "sum", group), torch.tensor([size * (size - 1) / 2])),
    "all_gather_tensor": lambda rank, size, group: (functional.all_gather_tensor(torch.tensor([float(rank)]), 0, group), torch.arange(float(size))),
    "reduce_scatter_tensor": lambda rank, size, group: (functional.reduce_scatter_tensor(torch.arange(float(size)), "sum", 0, group), torch.tensor([float(size * rank)])),
    "broadcast": lambda rank, size, group: (functional.broadcast(torch.tensor([float(rank)]), 1, group), torch.tensor([1.0])),
    "all_to_all_single": lambda rank, size, group: (functional.all_to_all_single(torch.arange(float(size)), None, None, group), torch.full((size,), float(rank))),
    "all_reduce_coalesced": lambda rank, size, group: (torch.cat(functional.all_reduce_coalesced([torch.ones(2), torch.ones(1)], "sum", group)), torch.full((3,), float(size))),
    "all_gather_coalesced": lambda rank, size, group: (torch.cat(functional.all_gather_into_tensor_coalesced([torch.tensor([float(rank)])], group)), torch.arange(float(size))),
    "permute_tensor": lambda rank, size, group: (functional.permute_tensor(torch.tensor([float(rank)]), [(i + 1) % size for i in range(size)], group), torch.tensor([float((rank - 1) % size)])),
}
for label, calls in FUNCTIONAL.items():
    @case(f"functional.{label}")
    def functional_collective(rank, size, calls=calls):
        got, expected = calls(rank, size, dist.group.WORLD)
        return same(torch.zeros_like(expected) + got, expected)


@case()
def compiled_with_a_collective(rank, size):
    """A collective works inside a compiled graph. The backend is "eager", because not every host has a C++ compiler."""

    @torch.compile(backend="eager", fullgraph=True)
    def double_sum(tensor):
        return functional.all_reduce(tensor * 2, "sum", dist.group.WORLD) + 1

    return same(double_sum(torch.ones(3)), torch.full((3,), 2.0 * size + 1))


@case()
def gradients_through_collectives(rank, size):
    from torch.distributed.nn.functional import all_reduce

    leaf = torch.full((2,), float(rank), requires_grad=True)
    (all_reduce(leaf, group=dist.group.WORLD) * (rank + 1)).sum().backward()
    return same(leaf.grad, torch.full((2,), size * (size + 1) / 2))


@case()
def gradients_through_all_gather(rank, size):
    from torch.distributed.nn.functional import all_gather

    leaf = torch.ones(2, requires_grad=True)
    (torch.stack(all_gather(leaf, group=dist.group.WORLD)).sum() * (rank + 1)).backward()
    return same(leaf.grad, torch.full((2,), size * (size + 1) / 2))
