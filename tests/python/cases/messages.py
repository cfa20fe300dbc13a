"""Messages between two ranks, and objects."""
import torch
import torch.distributed as dist

from . import case
from .collectives import EVERY, called, numbers, same


def neighbours(rank, size):
    return (rank + 1) % size, (rank - 1) % size


for each in [torch.float32, torch.bfloat16, torch.bool, torch.complex64]:
    @case(f"send_and_recv[{called(each)}]")
    def send_and_recv(rank, size, dtype=each):
        tensor = numbers(rank, dtype)
        if rank == 0:
            dist.send(tensor, dst=1)
        elif rank == 1:
            assert dist.recv(tensor, src=0) == 0
            return same(tensor, numbers(0, dtype))


@case()
def recv_from_any(rank, size):
    if rank:
        dist.send(torch.tensor([float(rank)]), dst=0, tag=7)
        return None
    got = {}
    for _ in range(size - 1):
        tensor = torch.zeros(1)
        source = dist.recv(tensor, tag=7)
        got[source] = tensor.item()
    assert got == {other: float(other) for other in range(1, size)}
    return got


@case()
def isend_and_irecv_round_a_ring(rank, size):
    right, left = neighbours(rank, size)
    into = torch.zeros(3)
    works = [dist.isend(torch.full((3,), float(rank)), right), dist.irecv(into, left)]
    for work in works:
        work.wait()
    return same(into, torch.full((3,), float(left)))


@case()
def irecv_from_any(rank, size):
    tag = 9  # used by this case only, because other ranks may already send messages of the next cases
    if rank == 1:
        dist.send(torch.tensor([5.0]), 0, tag=tag)
    if rank == 0:
        into = torch.zeros(1)
        work = dist.irecv(into, tag=tag)
        work.wait()
        assert work._source_rank() == 1
        return same(into, torch.tensor([5.0]))


@case()
def tags_keep_messages_apart(rank, size):
    if rank == 0:
        works = [dist.isend(torch.tensor([float(tag)]), 1, tag=tag) for tag in (1, 2, 3)]
        for work in works:
            work.wait()
    elif rank == 1:
        got = {}
        for tag in (3, 1, 2):
            tensor = torch.zeros(1)
            dist.recv(tensor, 0, tag=tag)
            got[tag] = tensor.item()
        assert got == {1: 1.0, 2: 2.0, 3: 3.0}
        return got


@case()
def messages_stay_in_order(rank, size):
    if rank == 0:
        for number in range(50):
            dist.send(torch.tensor([number]), 1)
    elif rank == 1:
        tensor, got = torch.zeros(1, dtype=torch.int64), []
        for _ in range(50):
            dist.recv(tensor, 0)
            got.append(tensor.item())
        assert got == list(range(50))
        return got


@case()
def a_large_message(rank, size):
    tensor = torch.full((2_000_000,), float(rank))
    if rank == 0:
        dist.send(tensor, 1)
    elif rank == 1:
        dist.recv(tensor, 0)
        assert tensor.eq(0).all()


@case()
def batch_isend_irecv(rank, size):
    right, left = neighbours(rank, size)
    into = torch.zeros(4)
    operations = [dist.P2POp(dist.isend, torch.full((4,), float(rank)), right), dist.P2POp(dist.irecv, into, left)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return same(into, torch.full((4,), float(left)))


@case()
def batch_isend_irecv_with_everybody(rank, size):
    into = [torch.zeros(2) for _ in range(size)]
    others = [other for other in range(size) if other != rank]
    operations = [dist.P2POp(dist.irecv, into[other], other) for other in others]
    operations += [dist.P2POp(dist.isend, torch.full((2,), float(rank)), other) for other in others]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return [same(into[other], torch.full((2,), float(other))) for other in others]


@case()
def messages_in_a_group(rank, size):
    group = dist.new_group([0, size - 1])
    if rank == 0:
        dist.send(torch.tensor([3.0]), dst=size - 1, group=group)
    if rank == size - 1:
        tensor = torch.zeros(1)
        dist.recv(tensor, src=0, group=group)
        return same(tensor, torch.tensor([3.0]))


@case()
def messages_by_rank_of_the_group(rank, size):
    group = dist.new_group([size - 1, 0], sort_ranks=False)
    if rank == 0:
        dist.send(torch.tensor([4.0]), group=group, group_dst=0)
    if rank == size - 1:
        tensor = torch.zeros(1)
        dist.recv(tensor, group=group, group_src=1)
        return same(tensor, torch.tensor([4.0]))


@case("refused: a message to oneself")
def message_to_oneself(rank, size):
    dist.send(torch.zeros(1), rank)


@case("refused: a negative tag")
def negative_tag(rank, size):
    dist.isend(torch.zeros(1), (rank + 1) % size, tag=-3)


THING = {"text": "für alle", "list": [1, 2.5, None], "tensor": torch.arange(3)}


def thing(rank):
    return {"rank": rank, "padding": "x" * (100 * rank)}


@case()
def all_gather_object(rank, size):
    into = [None] * size
    dist.all_gather_object(into, thing(rank))
    assert into == [thing(other) for other in range(size)]
    return into


@case()
def gather_object(rank, size):
    into = [None] * size if rank == 0 else None
    dist.gather_object(thing(rank), into, dst=0)
    assert into is None or into == [thing(other) for other in range(size)]
    return into


@case()
def broadcast_object_list(rank, size):
    into = ["a", 5, thing(3)] if rank == size - 1 else [None] * 3
    dist.broadcast_object_list(into, src=size - 1)
    assert into == ["a", 5, thing(3)]
    return into


@case()
def scatter_object_list(rank, size):
    into = [None]
    dist.scatter_object_list(into, [thing(other) for other in range(size)] if rank == 0 else None, src=0)
    assert into == [thing(rank)]
    return into


@case()
def send_object_list(rank, size):
    if rank == 0:
        dist.send_object_list(["b", thing(2)], dst=1)
    elif rank == 1:
        into = [None, None]
        dist.recv_object_list(into, src=0)
        assert into == ["b", thing(2)]
        return into


@case()
def every_type_in_one_object(rank, size):
    into = [None] * size
    dist.all_gather_object(into, [numbers(rank, dtype) for dtype in EVERY])
    return into
