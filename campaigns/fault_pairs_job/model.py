from torch import nn


class Classifier(nn.Module):
    def __init__(self, features, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x):
        return self.layers(x)
