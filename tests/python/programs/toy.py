"""A toy training as in tutorials. usage: toy.py EPOCHS SAVE_EVERY [BACKEND]. The script does not use
muster."""
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.nn  # before init_process_group, as in examples/python/resnet.py
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, snapshot):
        torch.manual_seed(0)
        data = TensorDataset(torch.rand(240, 20), torch.rand(240, 1))
        self.loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, seed=1))
        self.model = DistributedDataParallel(torch.nn.Linear(20, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.snapshot = snapshot

    def epoch(self, number):
        self.loader.sampler.set_epoch(number)
        total = torch.zeros(1)
        for inputs, targets in self.loader:
            self.optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
            loss.backward()
            self.optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        return total.item() / dist.get_world_size() / len(self.loader)

    def train(self, epochs, save_every):
        for number in range(epochs):
            loss = self.epoch(number)
            if dist.get_rank() == 0:
                print(f"toy epoch {number} loss {loss:.9f}", flush=True)
                if number % save_every == 0:
                    torch.save({"model": self.model.module.state_dict(), "epoch": number}, self.snapshot)


def main():
    dist.init_process_group(sys.argv[3] if len(sys.argv) > 3 else "mpi")
    with tempfile.TemporaryDirectory() as folder:
        snapshot = os.path.join(folder, "snapshot.pt")
        Trainer(snapshot).train(int(sys.argv[1]), int(sys.argv[2]))
        if dist.get_rank() == 0:
            print(f"toy snapshot of epoch {torch.load(snapshot)['epoch']}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
