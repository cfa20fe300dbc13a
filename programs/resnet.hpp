// ResNet-18 and ResNet-50. Their parts have torchvision's names, so that weights can be exchanged.
#pragma once

#include <array>

#include <torch/torch.h>

#include "programs/classifier.hpp"

namespace muster::programs {

inline torch::nn::Conv2d convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

// Returns the projection that serves as the shortcut of a block whose input and output shapes
// differ.
inline torch::nn::Sequential shortcut(int64_t in, int64_t out, int64_t stride) {
  return torch::nn::Sequential(convolution(in, out, 1, stride).ptr(),
                               torch::nn::BatchNorm2d(out).ptr());
}

struct BasicBlock : torch::nn::Module {
  static constexpr int64_t kExpansion = 1;

  BasicBlock(int64_t in, int64_t width, int64_t stride)
      : conv1(register_module("conv1", convolution(in, width, 3, stride))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(width))),
        conv2(register_module("conv2", convolution(width, width, 3, 1))),
        bn2(register_module("bn2", torch::nn::BatchNorm2d(width))) {
    if (stride == 1 && in == width) return;
    downsample = register_module("downsample", shortcut(in, width, stride));
  }

  torch::Tensor forward(const torch::Tensor& input) {
    const torch::Tensor x = bn2(conv2(bn1(conv1(input)).relu_()));
    return torch::relu(x + (downsample ? downsample->forward(input) : input));
  }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  torch::nn::Sequential downsample{nullptr};
};

struct Bottleneck : torch::nn::Module {
  static constexpr int64_t kExpansion = 4;

  // The 3x3 convolution has the stride, as in torchvision.
  Bottleneck(int64_t in, int64_t width, int64_t stride)
      : conv1(register_module("conv1", convolution(in, width, 1, 1))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(width))),
        conv2(register_module("conv2", convolution(width, width, 3, stride))),
        bn2(register_module("bn2", torch::nn::BatchNorm2d(width))),
        conv3(register_module("conv3", convolution(width, width * kExpansion, 1, 1))),
        bn3(register_module("bn3", torch::nn::BatchNorm2d(width * kExpansion))) {
    if (stride == 1 && in == width * kExpansion) return;
    downsample = register_module("downsample", shortcut(in, width * kExpansion, stride));
  }

  torch::Tensor forward(const torch::Tensor& input) {
    torch::Tensor x = bn2(conv2(bn1(conv1(input)).relu_())).relu_();
    x = bn3(conv3(x));
    return torch::relu(x + (downsample ? downsample->forward(input) : input));
  }

  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  torch::nn::Conv2d conv3;
  torch::nn::BatchNorm2d bn3;
  torch::nn::Sequential downsample{nullptr};
};

// The layers before the blocks. `small` is a 3x3 convolution without pooling, for 32x32 images.
// torchvision's stem would reduce such images to 8x8.
enum class Stem { torchvision, small };

// The input is [N, 3, H, W]. H and W must be at least 32.
template <class Block>
struct ResNet : Classifier {
  explicit ResNet(const std::array<int64_t, 4>& blocks, int64_t classes = 1000,
                  Stem stem = Stem::torchvision)
      : pooled(stem == Stem::torchvision),
        conv1(
            register_module("conv1", pooled ? convolution(3, 64, 7, 2) : convolution(3, 64, 3, 1))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(64))),
        layer1(register_module("layer1", layer(64, blocks[0], 1))),
        layer2(register_module("layer2", layer(128, blocks[1], 2))),
        layer3(register_module("layer3", layer(256, blocks[2], 2))),
        layer4(register_module("layer4", layer(512, blocks[3], 2))),
        fc(register_module("fc", torch::nn::Linear(512 * Block::kExpansion, classes))) {
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* each = module->as<torch::nn::Conv2d>()) {
        torch::nn::init::kaiming_normal_(each->weight, 0, torch::kFanOut, torch::kReLU);
      }
    }
  }

  torch::Tensor forward(const torch::Tensor& input) override {
    torch::Tensor x = bn1(conv1(input)).relu_();
    if (pooled) x = torch::max_pool2d(x, 3, 2, 1);
    x = layer4->forward(layer3->forward(layer2->forward(layer1->forward(x))));
    return fc(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

  torch::nn::Sequential layer(int64_t width, int64_t blocks, int64_t stride) {
    torch::nn::Sequential made;
    for (int64_t i = 0; i < blocks; ++i) {
      made->push_back(Block(channels, width, i == 0 ? stride : 1));
      channels = width * Block::kExpansion;
    }
    return made;
  }

  // The layers are created and registered in torchvision's order, so that the same seed gives the
  // same weights.
  bool pooled;
  int64_t channels = 64;  // that the last added layer outputs
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Sequential layer1;
  torch::nn::Sequential layer2;
  torch::nn::Sequential layer3;
  torch::nn::Sequential layer4;
  torch::nn::Linear fc;
};

struct ResNet18 : ResNet<BasicBlock> {
  explicit ResNet18(int64_t classes = 1000, Stem stem = Stem::torchvision)
      : ResNet({2, 2, 2, 2}, classes, stem) {}
};

struct ResNet50 : ResNet<Bottleneck> {
  explicit ResNet50(int64_t classes = 1000, Stem stem = Stem::torchvision)
      : ResNet({3, 4, 6, 3}, classes, stem) {}
};

}  // namespace muster::programs
