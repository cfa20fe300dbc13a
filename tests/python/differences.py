"""Where the MPI backend and Gloo do not do the same: {case: {backend that refuses: why}}. The document's table is made of it."""
DIFFERENCES = {
    "all_reduce[int16]": {"gloo": "no such type"},
    "broadcast[int16]": {"gloo": "no such type"},
    "all_gather[int16]": {"gloo": "no such type"},
    "broadcast[float8]": {"gloo": "no such type"},
    "all_reduce[premul_sum]": {"gloo": "no such reduction"},
    "all_gather_into_tensor_stacked": {"gloo": "wants an output of one dimension"},
    "all_to_all_uneven": {"gloo": "wants tensors of one size; `all_to_all_single` takes splits"},
    "split_group": {"gloo": "PyTorch splits no CPU backend's groups"},
    "split_group_that_leaves_ranks_out": {"gloo": "the same"},
    "split_of_a_split": {"gloo": "the same"},
    "all_reduce[not contiguous]": {"mpi": "refused in words: pass `tensor.contiguous()`"},
    "all_reduce[channels last]": {"mpi": "the same"},
    "all_reduce[sparse]": {"mpi": "refused in words: `to_dense()`"},
    "reduce_scatter_uneven": {"mpi": "refused in words: tensors of one size"},
    "monitored_barrier": {"mpi": "PyTorch allows it to Gloo alone; here every operation's time-out names the missing ranks"},
}


def as_table():
    rows = [f"| {name} | {refusals.get('gloo', 'works')} | {refusals.get('mpi', 'works')} |" for name, refusals in DIFFERENCES.items()]
    return "\n".join(["| case | Gloo | mpi |", "|---|---|---|", *rows]) + "\n"


if __name__ == "__main__":
    print(as_table(), end="")
