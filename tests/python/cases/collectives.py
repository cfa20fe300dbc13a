"""Collectives: every type, every reduction, every variant."""
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

from . import case

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
WHOLES = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
COMPLEX = [torch.complex64, torch.complex128]
EVERY = [*FLOATS, *WHOLES, *COMPLEX, torch.bool]


def called(dtype):
    return str(dtype).removeprefix("torch.")


def numbers(rank, dtype, count=6):
    """Returns small integers that differ between ranks and are exact in every type."""
    if dtype == torch.bool:
        return torch.arange(count) % 2 == rank % 2
    return (torch.arange(count) % 3 + rank + 1).to(dtype)


def all_numbers(size, dtype, count=6):
    return [numbers(rank, dtype, count) for rank in range(size)]


def total(size, dtype, count=6):
    added = sum(t.to(torch.complex128) for t in all_numbers(size, dtype, count))
    return (added.real if not dtype.is_complex else added).to(dtype)


def same(got, expected):
    torch.testing.assert_close(got, expected, rtol=0, atol=0)
    return got


for each in [*FLOATS, *WHOLES, *COMPLEX]:
    @case(f"all_reduce[{called(each)}]")
    def all_reduce_type(rank, size, dtype=each):
        tensor = numbers(rank, dtype)
        dist.all_reduce(tensor)
        return same(tensor, total(size, dtype))

for each in EVERY:
    @case(f"broadcast[{called(each)}]")
    def broadcast_type(rank, size, dtype=each):
        tensor = numbers(rank, dtype)
        dist.broadcast(tensor, src=size - 1)
        return same(tensor, numbers(size - 1, dtype))

    @case(f"all_gather[{called(each)}]")
    def all_gather_type(rank, size, dtype=each):
        into = [torch.zeros(6, dtype=dtype) for _ in range(size)]
        dist.all_gather(into, numbers(rank, dtype))
        return [same(got, expected) for got, expected in zip(into, all_numbers(size, dtype), strict=True)]

for each in [*FLOATS[:3], torch.int64, torch.complex64]:
    @case(f"reduce_scatter_tensor[{called(each)}]")
    def reduce_scatter_tensor_type(rank, size, dtype=each):
        mine = torch.zeros(3, dtype=dtype)
        dist.reduce_scatter_tensor(mine, numbers(rank, dtype, 3 * size))
        return same(mine, total(size, dtype, 3 * size)[3 * rank:3 * rank + 3])

    @case(f"all_to_all_single[{called(each)}]")
    def all_to_all_single_type(rank, size, dtype=each):
        into = torch.zeros(2 * size, dtype=dtype)
        dist.all_to_all_single(into, numbers(rank, dtype, 2 * size))
        return same(into, torch.cat([numbers(other, dtype, 2 * size)[2 * rank:2 * rank + 2] for other in range(size)]))

OPERATIONS = {
    "product": (ReduceOp.PRODUCT, lambda stack: stack.prod(0)),
    "min": (ReduceOp.MIN, lambda stack: stack.amin(0)),
    "max": (ReduceOp.MAX, lambda stack: stack.amax(0)),
    "avg": (ReduceOp.AVG, lambda stack: stack.sum(0) / len(stack)),
}
for label, (operation, expected_of) in OPERATIONS.items():
    @case(f"all_reduce[{label}]")
    def all_reduce_op(rank, size, op=operation, expect=expected_of):
        tensor = numbers(rank, torch.float32)
        dist.all_reduce(tensor, op)
        return same(tensor, expect(torch.stack(all_numbers(size, torch.float32))))

    @case(f"reduce[{label}]")
    def reduce_op(rank, size, op=operation, expect=expected_of):
        tensor = numbers(rank, torch.float64)
        dist.reduce(tensor, dst=size - 1, op=op)
        return same(tensor, expect(torch.stack(all_numbers(size, torch.float64)))) if rank == size - 1 else None

    @case(f"reduce_scatter_tensor[{label}]")
    def reduce_scatter_op(rank, size, op=operation, expect=expected_of):
        mine = torch.zeros(2)
        dist.reduce_scatter_tensor(mine, numbers(rank, torch.float32, 2 * size), op)
        return same(mine, expect(torch.stack(all_numbers(size, torch.float32, 2 * size)))[2 * rank:2 * rank + 2])

for label, operation, fold in [("band", ReduceOp.BAND, torch.bitwise_and), ("bor", ReduceOp.BOR, torch.bitwise_or),
                               ("bxor", ReduceOp.BXOR, torch.bitwise_xor)]:
    @case(f"all_reduce[{label}]")
    def all_reduce_bits(rank, size, op=operation, fold=fold):
        expected = numbers(0, torch.int32)
        for other in range(1, size):
            expected = fold(expected, numbers(other, torch.int32))
        tensor = numbers(rank, torch.int32)
        dist.all_reduce(tensor, op)
        return same(tensor, expected)


@case("all_reduce[premul_sum]")
def all_reduce_premul_sum(rank, size):
    tensor = numbers(rank, torch.float32)
    dist.all_reduce(tensor, torch.distributed._make_nccl_premul_sum(0.5))
    return same(tensor, total(size, torch.float32) / 2)


@case("all_reduce[bool, max]")
def all_reduce_bool(rank, size):
    tensor = numbers(rank, torch.bool)
    dist.all_reduce(tensor, ReduceOp.MAX)
    return same(tensor, torch.stack(all_numbers(size, torch.bool)).any(0))


@case("refused: all_reduce[float8]")
def all_reduce_float8(rank, size):
    dist.all_reduce(torch.ones(4).to(torch.float8_e4m3fn))


@case("broadcast[float8]")
def broadcast_float8(rank, size):
    tensor = torch.full((4,), float(rank)).to(torch.float8_e4m3fn)
    dist.broadcast(tensor, 0)
    return same(tensor.float(), torch.zeros(4))


@case("all_reduce[no elements]")
def all_reduce_empty(rank, size):
    tensor = torch.zeros(0)
    dist.all_reduce(tensor)
    return tensor


@case("all_reduce[one number]")
def all_reduce_scalar(rank, size):
    tensor = torch.tensor(float(rank))
    dist.all_reduce(tensor)
    return same(tensor, torch.tensor(size * (size - 1) / 2))


@case("all_reduce[a million]")
def all_reduce_large(rank, size):
    tensor = torch.full((1_000_003,), float(rank + 1))
    dist.all_reduce(tensor)
    return same(tensor[::99991].clone(), torch.full((11,), size * (size + 1) / 2))


LARGE = 2_700_007  # elements of float32: more than muster passes to Open MPI in one call


def large(rank, parts=1):
    """Returns values that differ between positions. Their sums are exact."""
    return (torch.arange(parts * LARGE) % 1009 + rank).float()


def large_total(size, parts=1):
    return (torch.arange(parts * LARGE) % 1009 * size + size * (size - 1) // 2).float()


@case("all_reduce[in pieces]")
def all_reduce_pieces(rank, size):
    tensor = large(rank)
    dist.all_reduce(tensor)
    assert torch.equal(tensor, large_total(size))


@case("reduce[in pieces]")
def reduce_pieces(rank, size):
    tensor = large(rank)
    dist.reduce(tensor, dst=1)
    assert rank != 1 or torch.equal(tensor, large_total(size))


@case("reduce_scatter_tensor[in pieces]")
def reduce_scatter_pieces(rank, size):
    mine = torch.zeros(LARGE)
    dist.reduce_scatter_tensor(mine, large(rank, size))
    assert torch.equal(mine, large_total(size, size)[rank * LARGE:(rank + 1) * LARGE])


@case("all_reduce[a part of a tensor]")
def all_reduce_slice(rank, size):
    whole = torch.zeros(4, 5)
    whole[2] = rank + 1
    dist.all_reduce(whole[2])
    assert whole[[0, 1, 3]].eq(0).all()
    return same(whole[2], torch.full((5,), size * (size + 1) / 2))


@case("all_reduce[not contiguous]")
def all_reduce_strided(rank, size):
    tensor = torch.arange(6.0).view(2, 3).t()
    dist.all_reduce(tensor)
    return same(tensor, torch.arange(6.0).view(2, 3).t() * size)


@case("all_reduce[channels last]")
def all_reduce_channels_last(rank, size):
    tensor = torch.arange(24.0).view(1, 2, 3, 4).to(memory_format=torch.channels_last)
    dist.all_reduce(tensor)
    return same(tensor.contiguous(), torch.arange(24.0).view(1, 2, 3, 4) * size)


@case("all_reduce[sparse]")
def all_reduce_sparse(rank, size):
    tensor = torch.sparse_coo_tensor([[rank]], [1.0], (size,))
    dist.all_reduce(tensor)
    return same(tensor.to_dense(), torch.ones(size))


@case()
def all_reduce_asynchronous(rank, size):
    tensors = [torch.full((100,), float(i + rank)) for i in range(20)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait()
    assert all(work.is_completed() for work in works)
    return [same(t, torch.full((100,), float(size * i + size * (size - 1) / 2))) for i, t in enumerate(tensors)]


@case()
def future_of_a_work(rank, size):
    tensor = torch.ones(5)
    future = dist.all_reduce(tensor, async_op=True).get_future()
    (result,) = future.wait()
    return same(result, torch.full((5,), float(size)))


@case()
def then_of_a_future(rank, size):
    future = dist.all_reduce(torch.ones(5), async_op=True).get_future().then(lambda done: done.value()[0] / size)
    return same(future.wait(), torch.ones(5))


@case()
def a_then_that_communicates(rank, size):
    def again(done):
        tensor = done.value()[0]
        dist.all_reduce(tensor)
        return tensor

    return same(dist.all_reduce(torch.ones(2), async_op=True).get_future().then(again).wait(), torch.full((2,), float(size * size)))


@case()
def wait_with_a_time_limit(rank, size):
    from datetime import timedelta

    tensor = torch.ones(1)
    dist.all_reduce(tensor, async_op=True).wait(timedelta(seconds=10))
    return same(tensor, torch.full((1,), float(size)))


@case()
def all_reduce_coalesced(rank, size):
    tensors = [numbers(rank, torch.float32), numbers(rank, torch.float32, 3)]
    dist.all_reduce_coalesced(tensors)
    return [same(tensors[0], total(size, torch.float32)), same(tensors[1], total(size, torch.float32, 3))]


@case("refused: coalescing_manager")
def coalescing_manager_of_all_reduces(rank, size):
    tensors = [torch.full((n,), float(rank)) for n in (1, 5, 2)]
    with dist._coalescing_manager(device=torch.device("cpu")):
        for tensor in tensors:
            dist.all_reduce(tensor)


@case()
def all_gather_into_tensor(rank, size):
    into = torch.zeros(size * 3)
    dist.all_gather_into_tensor(into, torch.full((3,), float(rank)))
    return same(into, torch.arange(float(size)).repeat_interleave(3))


@case()
def all_gather_into_tensor_stacked(rank, size):
    into = torch.zeros(size, 3, dtype=torch.int32)
    dist.all_gather_into_tensor(into, torch.full((3,), rank, dtype=torch.int32))
    return same(into, torch.arange(size, dtype=torch.int32)[:, None].expand(size, 3).contiguous())


@case()
def gather(rank, size):
    into = [torch.zeros(4) for _ in range(size)] if rank == size - 1 else None
    dist.gather(torch.full((4,), float(rank)), into, dst=size - 1)
    return same(torch.stack(into), torch.arange(float(size))[:, None].expand(size, 4).contiguous()) if into else None


@case()
def scatter(rank, size):
    parts = [torch.full((4,), float(10 + i)) for i in range(size)] if rank == size - 1 else None
    mine = torch.zeros(4)
    dist.scatter(mine, parts, src=size - 1)
    return same(mine, torch.full((4,), 10.0 + rank))


@case()
def reduce_scatter(rank, size):
    mine = torch.zeros(2)
    dist.reduce_scatter(mine, [torch.full((2,), float(rank + i)) for i in range(size)])
    return same(mine, torch.full((2,), size * (size - 1) / 2 + size * rank))


@case()
def reduce_scatter_uneven(rank, size):
    mine = torch.zeros(rank + 1)
    dist.reduce_scatter(mine, [torch.full((i + 1,), float(i)) for i in range(size)])
    return same(mine, torch.full((rank + 1,), float(rank * size)))


@case("refused: all_gather of different lengths")
def all_gather_uneven(rank, size):
    into = [torch.zeros(i + 1) for i in range(size)]
    dist.all_gather(into, torch.full((rank + 1,), float(rank)))


@case()
def all_to_all(rank, size):
    into = [torch.zeros(2) for _ in range(size)]
    dist.all_to_all(into, [torch.full((2,), float(10 * rank + i)) for i in range(size)])
    return [same(got, torch.full((2,), float(10 * i + rank))) for i, got in enumerate(into)]


@case()
def all_to_all_uneven(rank, size):
    into = [torch.zeros(rank + 1) for _ in range(size)]
    dist.all_to_all(into, [torch.full((i + 1,), float(rank)) for i in range(size)])
    return [same(got, torch.full((rank + 1,), float(i))) for i, got in enumerate(into)]


@case()
def all_to_all_single_uneven(rank, size):
    into = torch.zeros(size * (rank + 1))
    out = torch.cat([torch.full((i + 1,), float(rank)) for i in range(size)])
    dist.all_to_all_single(into, out, [rank + 1] * size, [i + 1 for i in range(size)])
    return same(into, torch.arange(float(size)).repeat_interleave(rank + 1))


@case()
def all_to_all_single_with_nothing_for_some(rank, size):
    sent = [1 if i == 0 else 0 for i in range(size)]
    received = [1 if rank == 0 else 0] * size
    into = torch.zeros(sum(received))
    dist.all_to_all_single(into, torch.tensor([float(rank)]), received, sent)
    return same(into, torch.arange(float(size)) if rank == 0 else torch.zeros(0))


def nobody_passes_before_the_last_comes(rank, size, barrier):
    """Checks that no rank leaves the barrier early: the last rank is late and creates a file just before it enters, so every rank must see that file
    afterwards."""
    name = [tempfile.mktemp(prefix="muster-barrier-") if rank == 0 else None]
    dist.broadcast_object_list(name, src=0)
    if rank == size - 1:
        time.sleep(0.2)
        Path(name[0]).touch()
    barrier()
    came = Path(name[0]).exists()
    barrier()
    if rank == size - 1:
        Path(name[0]).unlink()
    assert came


@case()
def barrier(rank, size):
    nobody_passes_before_the_last_comes(rank, size, dist.barrier)


@case()
def barrier_asynchronous(rank, size):
    def wait():
        work = dist.barrier(async_op=True)
        work.wait()
        assert work.is_completed()

    nobody_passes_before_the_last_comes(rank, size, wait)


@case()
def monitored_barrier(rank, size):
    dist.monitored_barrier()


@case("refused: a list of the wrong length")
def wrong_list(rank, size):
    dist.all_gather([torch.zeros(2)] * (size + 1), torch.zeros(2))


@case("refused: another type in the list")
def wrong_type(rank, size):
    dist.all_gather([torch.zeros(2, dtype=torch.int32)] * size, torch.zeros(2))


@case("refused: a root that is none")
def wrong_root(rank, size):
    dist.broadcast(torch.zeros(2), src=size)


@case("refused: bits of floating-point numbers")
def bits_of_floats(rank, size):
    dist.all_reduce(torch.ones(2), ReduceOp.BAND)


@case("refused: the largest of complex numbers")
def largest_complex(rank, size):
    dist.all_reduce(torch.ones(2, dtype=torch.complex64), ReduceOp.MAX)


@case("refused: splits that do not add up")
def wrong_splits(rank, size):
    dist.all_to_all_single(torch.zeros(size), torch.zeros(size), [2] * size, [1] * size)
