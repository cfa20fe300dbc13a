"""ResNet-18 and ResNet-50 in Python, with torchvision's names; the peer of `muster-train resnet18`.

usage: resnet_twin.py logits MODEL WEIGHTS IMAGES OUT   loads WEIGHTS as they are, and writes the logits of CIFAR-10's test images
       resnet_twin.py weights MODEL CLASSES OUT         random weights, running statistics too
"""
import sys
from pathlib import Path

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file, save_file


class Block(nn.Module):
    """BasicBlock, or Bottleneck if `expansion` is 4."""

    def __init__(self, inputs, width, stride, expansion):
        super().__init__()
        kernels = [3, 3] if expansion == 1 else [1, 3, 1]
        widths = [inputs, *[width] * (len(kernels) - 1), width * expansion]
        for i, kernel in enumerate(kernels):
            strided = stride if i == (0 if expansion == 1 else 1) else 1
            setattr(self, f"conv{i + 1}", nn.Conv2d(widths[i], widths[i + 1], kernel, strided, kernel // 2, bias=False))
            setattr(self, f"bn{i + 1}", nn.BatchNorm2d(widths[i + 1]))
        self.count, self.downsample = len(kernels), None
        if stride != 1 or inputs != widths[-1]:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, widths[-1], 1, stride, bias=False), nn.BatchNorm2d(widths[-1]))

    def forward(self, input):
        x = input
        for i in range(1, self.count + 1):
            x = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x))
            x = F.relu_(x) if i < self.count else x
        return F.relu(x + (self.downsample(input) if self.downsample else input))


class ResNet(nn.Module):
    def __init__(self, blocks, expansion, classes, small_stem=False):
        super().__init__()
        self.small_stem = small_stem
        self.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False) if small_stem else nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for number, count in enumerate(blocks):
            layer = []
            for i in range(count):
                layer.append(Block(inputs, 64 << number, 2 if i == 0 and number > 0 else 1, expansion))
                inputs = (64 << number) * expansion
            setattr(self, f"layer{number + 1}", nn.Sequential(*layer))
        self.fc = nn.Linear(inputs, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, input):
        x = F.relu_(self.bn1(self.conv1(input)))
        if not self.small_stem:
            x = F.max_pool2d(x, 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def make(model, classes, small_stem=False):
    return ResNet([2, 2, 2, 2], 1, classes, small_stem) if model == "resnet18" else ResNet([3, 4, 6, 3], 4, classes, small_stem)


CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def read(files, colours):
    """Returns (images, labels) of CIFAR-10's binary batches, normalised."""
    records = numpy.concatenate([numpy.frombuffer(Path(file).read_bytes(), numpy.uint8).reshape(-1, 3073) for file in files])
    mean, deviation = (numpy.array(values, numpy.float32).reshape(3, 1, 1) for values in colours)
    images = (records[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32) / numpy.float32(255) - mean) / deviation
    return torch.from_numpy(images), torch.from_numpy(records[:, 0].astype(numpy.int64))


def logits(model, weights, images, out):
    state = load_file(weights)
    net = make(model, len(state["fc.bias"]))
    net.load_state_dict(state, strict=True)
    net.eval()
    with torch.no_grad():
        parts = [net(part) for part in read([images], IMAGENET)[0].split(250)]
    save_file({"logits": torch.cat(parts)}, out)


def weights(model, classes, out):
    torch.manual_seed(3)
    net = make(model, int(classes))
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            module.num_batches_tracked += 7
    save_file(net.state_dict(), out)


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"logits": logits, "weights": weights}[sys.argv[1]](*sys.argv[2:])
