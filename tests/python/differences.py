"""The differences between the MPI backend and Gloo: {case: {backend that rejects it: reason}}. The table in docs/python.md
is made from it."""
DIFFERENCES = {
    "all_reduce[int16]": {"gloo": "type not supported"},
    "broadcast[int16]": {"gloo": "type not supported"},
    "all_gather[int16]": {"gloo": "type not supported"},
    "broadcast[float8]": {"gloo": "type not supported"},
    "all_reduce[premul_sum]": {"gloo": "reduction not supported"},
    "all_gather_into_tensor_stacked": {"gloo": "output must have one dimension"},
    "all_to_all_uneven": {"gloo": "tensors must have equal sizes; use `all_to_all_single` with splits"},
    "split_group": {"gloo": "not supported for CPU groups"},
    "split_group_that_leaves_ranks_out": {"gloo": "not supported for CPU groups"},
    "split_of_a_split": {"gloo": "not supported for CPU groups"},
    "splits_of_the_same_ranks": {"gloo": "not supported for CPU groups"},
    "all_reduce[not contiguous]": {"mpi": "error: pass `tensor.contiguous()`"},
    "all_reduce[channels last]": {"mpi": "error: pass `tensor.contiguous()`"},
    "all_reduce[sparse]": {"mpi": "error: pass `tensor.to_dense()`"},
    "reduce_scatter_uneven": {"mpi": "error: tensors must have equal sizes"},
    "monitored_barrier": {"mpi": "works from PyTorch 2.14 on; not needed: every timeout names the missing ranks"},
}
WORK_FROM_2_14 = {"monitored_barrier"}


# The errors with which the MPI backend, or PyTorch for it, rejects a call.
REFUSALS = {
    "refused: all_reduce[float8]": "TypeError: MPI: all_reduce: Float8_e4m3fn cannot be reduced",
    "refused: all_gather of different lengths": "ValueError: MPI: all_gather: a tensor of",
    "refused: coalescing_manager": "Backend mpi does not implement startCoalescing",
    "refused: a list of the wrong length": "ValueError: MPI: all_gather: .* tensors for . ranks",
    "refused: another type in the list": "ValueError: Invalid usage of tensors with different dtypes",
    "refused: a root that is none": "ValueError: MPI: broadcast: rank . is none of",
    "refused: bits of floating-point numbers": "TypeError: MPI: all_reduce: Float has no bits",
    "refused: the largest of complex numbers": "does not support RedOpType.MAX on complex",
    "refused: splits that do not add up": "ValueError: MPI: all_to_all: splits",
    "refused: a message to oneself": "ValueError: Invalid destination rank",
    "refused: a negative tag": "ValueError: MPI: send: tag -3 is not between",
    "all_reduce[not contiguous]": "ValueError: MPI: all_reduce: a tensor of shape .* is not contiguous; pass tensor.contiguous",
    "all_reduce[channels last]": "ValueError: MPI: all_reduce: a tensor of shape .* is not contiguous; pass tensor.contiguous",
    "all_reduce[sparse]": "ValueError: MPI: all_reduce: a tensor is sparse .* to_dense",
    "reduce_scatter_uneven": "ValueError: MPI: reduce_scatter: a tensor of",
    "monitored_barrier": "ValueError: monitored_barrier is only implemented for GLOO",
}


def as_table():
    rows = [f"| {name} | {refusals.get('gloo', 'works')} | {refusals.get('mpi', 'works')} |" for name, refusals in DIFFERENCES.items()]
    return "\n".join(["| case | Gloo | mpi |", "|---|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    print(as_table(), end="")
