"""Prints what the two backends did in each case, as JSON. usage: compare_results.py FOLDER (of run_cases.py)"""
import json
import sys
from pathlib import Path

import torch


def same(one, other):
    """Compares bit by bit, except that floating-point sums may differ in the last bits, because their
    order may differ."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        if not one.is_floating_point():
            return torch.equal(one, other)
        return one.dtype == other.dtype and torch.allclose(one.double(), other.double(), rtol=1e-6 if one.dtype == torch.float32 else 1e-12, atol=1e-6)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return one == other


def main():
    ranks = [torch.load(file, weights_only=False) for file in sorted(Path(sys.argv[1]).glob("*.pt"), key=lambda file: int(file.stem))]
    cases = {}
    for name in ranks[0]["gloo"]:
        gloo, mpi = ([rank[backend][name] for rank in ranks] for backend in ("gloo", "mpi"))
        raised = {backend: {outcome[1] for outcome in outcomes if outcome[0] == "raised"} for backend, outcomes in (("gloo", gloo), ("mpi", mpi))}
        cases[name] = {"gloo": [outcome[0] for outcome in gloo], "mpi": [outcome[0] for outcome in mpi],
                       "same": same([outcome[1] for outcome in gloo], [outcome[1] for outcome in mpi]),
                       "said": "; ".join(f"{backend}: {text}" for backend, texts in raised.items() for text in sorted(texts))}
    print(json.dumps(cases))


main()
