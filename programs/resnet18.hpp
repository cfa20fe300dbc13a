// ResNet-18, with the names that torchvision gives to its parts, so that weights can be exchanged.
#pragma once

#include <torch/torch.h>

namespace muster::programs {

inline torch::nn::Conv2d convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BasicBlock : torch::nn::Module {
  BasicBlock(int64_t in, int64_t out, int64_t stride)
      : conv1(register_module("conv1", convolution(in, out, 3, stride))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(out))),
        conv2(register_module("conv2", convolution(out, out, 3, 1))),
        bn2(register_module("bn2", torch::nn::BatchNorm2d(out))) {
    if (stride == 1 && in == out) return;
    downsample =
        register_module("downsample", torch::nn::Sequential(convolution(in, out, 1, stride).ptr(),
                                                            torch::nn::BatchNorm2d(out).ptr()));
  }

  torch::Tensor forward(const torch::Tensor& input) {
    const torch::Tensor x = bn2(conv2(bn1(conv1(input)).relu_()));
    return torch::relu(x + (downsample ? downsample->forward(input) : input));
  }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  torch::nn::Sequential downsample{nullptr};  // where the shapes of input and output differ
};

// Input: [N, 3, H, W], with H and W of at least 32.
struct ResNet18 : torch::nn::Module {
  explicit ResNet18(int64_t classes = 1000)
      : fc(register_module("fc", torch::nn::Linear(512, classes))) {
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* convolution = module->as<torch::nn::Conv2d>()) {
        torch::nn::init::kaiming_normal_(convolution->weight, 0, torch::kFanOut, torch::kReLU);
      }
    }
  }

  torch::Tensor forward(const torch::Tensor& input) {
    torch::Tensor x = torch::max_pool2d(bn1(conv1(input)).relu_(), 3, 2, 1);
    x = layer4->forward(layer3->forward(layer2->forward(layer1->forward(x))));
    return fc(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

  static torch::nn::Sequential layer(int64_t in, int64_t out, int64_t stride) {
    return torch::nn::Sequential(BasicBlock(in, out, stride), BasicBlock(out, out, 1));
  }

  // Made and registered in the order of torchvision's; the seed then gives the same weights.
  torch::nn::Conv2d conv1 = register_module("conv1", convolution(3, 64, 7, 2));
  torch::nn::BatchNorm2d bn1 = register_module("bn1", torch::nn::BatchNorm2d(64));
  torch::nn::Sequential layer1 = register_module("layer1", layer(64, 64, 1));
  torch::nn::Sequential layer2 = register_module("layer2", layer(64, 128, 2));
  torch::nn::Sequential layer3 = register_module("layer3", layer(128, 256, 2));
  torch::nn::Sequential layer4 = register_module("layer4", layer(256, 512, 2));
  torch::nn::Linear fc;
};

}  // namespace muster::programs
