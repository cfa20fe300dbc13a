"""The peer's side of comparisons/ddp: like ddp_steps.cpp, with Python's DistributedDataParallel over Gloo, under torchrun."""
import json
import os
import time

import torch
import torch.distributed as dist
import torch.distributed.nn  # before init_process_group, as in examples/python/resnet.py
import torch.nn as nn
import torch.nn.functional as F


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(32, 64)
        self.hidden2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, input):
        return self.out(F.relu(self.hidden2(F.relu(self.hidden1(input)))))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.hidden = nn.Linear(9216, 128)
        self.out = nn.Linear(128, 10)

    def forward(self, input):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(input)))), 2).flatten(1)
        return self.out(F.relu(self.hidden(x)))


def convolution(inputs, outputs, kernel, stride):
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = convolution(inputs, outputs, 3, stride)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = convolution(outputs, outputs, 3, 1)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, input):
        x = self.bn2(self.conv2(F.relu_(self.bn1(self.conv1(input)))))
        return F.relu(x + (self.downsample(input) if self.downsample else input))


class ResNet18(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = convolution(3, 64, 7, 2)
        self.bn1 = nn.BatchNorm2d(64)
        for number, (inputs, outputs, stride) in enumerate([(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)], 1):
            setattr(self, f"layer{number}", nn.Sequential(BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1)))
        self.fc = nn.Linear(512, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, input):
        x = F.max_pool2d(F.relu_(self.bn1(self.conv1(input))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def seconds_since_process_start():
    started = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return float(open("/proc/uptime").read().split()[0]) - started


def resident_mb():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


first_step = None


def train(model, shape, warm_up, steps):
    """Returns steps per second and the last loss."""
    global first_step
    model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    torch.manual_seed(100 + dist.get_rank())
    input, target = torch.randn(shape), torch.randint(10, (shape[0],))
    for step in range(warm_up + steps):
        if step == warm_up:
            start = time.perf_counter()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(input), target)
        loss.backward()
        optimizer.step()
        first_step = first_step or seconds_since_process_start()
    return steps / (time.perf_counter() - start), loss.item()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    mlp, mlp_loss = train(Mlp(), (16, 32), 100, 2000)
    cnn, cnn_loss = train(Cnn(), (16, 1, 28, 28), 5, 60)
    resident = resident_mb()
    resnet18, resnet18_loss = train(ResNet18(10), (8, 3, 32, 32), 3, 25)
    if dist.get_rank() == 0:
        print(json.dumps({"mlp": mlp, "cnn": cnn, "resnet18": resnet18, "first_step": first_step, "rss": resident,
                          "losses": [mlp_loss, cnn_loss, resnet18_loss]}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
