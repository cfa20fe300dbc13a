"""Shards: CSV files of numbers with a label in the last column, described by meta.json."""
import json

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, x, y, crops, width):
        self.x, self.y, self.crops, self.width = x, y, crops, width

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        row = self.x[self.crops[index]]
        if self.width:  # simulate large samples, such as images
            row = row.repeat(self.width)
        return row, self.y[index]


def parse_row(line, number, normalizer):
    *values, label = normalizer.split(line)
    if int(label) not in (0, 1):
        raise ValueError(f"row {number}: label {label} is neither 0 nor 1")
    return [float(value) for value in values], int(label)


def read_shard(folder, rank, normalizer):
    """Reads the rows and labels of this rank's shard."""
    meta = json.loads((folder / "meta.json").read_text())
    scratch = torch.zeros(meta["scratch"])
    lines = (folder / f"shard-{rank}.csv").read_text(encoding="utf-8").splitlines()
    rows = [parse_row(line, number, normalizer) for number, line in enumerate(lines)]
    mean = np.array(meta["mean"])
    x = torch.tensor(np.array([values for values, _ in rows]) - mean, dtype=torch.float32)
    assert len(x) >= meta["least_rows"], f"{len(x)} rows are fewer than {meta['least_rows']}"
    parts = [(folder / "parts" / f"part-{i}.bin").open("rb") for i in range(meta["parts"])]
    for part in parts:
        part.close()
    return x + scratch[0], torch.tensor([label for _, label in rows]), meta.get("crops") or list(range(len(x)))


def make_loader(shard, batch, workers, width):
    x, y, crops = shard
    return DataLoader(Rows(x, y, crops, width), batch_size=batch, num_workers=workers)
