#include "torch/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/types.h>
#include <unistd.h>

namespace muster {
namespace {

std::vector<at::Tensor> gather_equal(c10d::ProcessGroup& group, const at::Tensor& mine) {
  std::vector<at::Tensor> input{mine.to(device_of(group))};
  std::vector<std::vector<at::Tensor>> output(1);
  for (int rank = 0; rank < group.getSize(); ++rank) {
    output[0].push_back(at::empty_like(input[0]));
  }
  group.allgather(output, input)->wait();
  for (at::Tensor& one : output[0]) one = one.cpu();
  return output[0];
}

at::Tensor broadcast_from(c10d::ProcessGroup& group, const at::Tensor& tensor, int root) {
  std::vector<at::Tensor> tensors{tensor.to(device_of(group))};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  group.broadcast(tensors, options)->wait();
  return tensors[0].cpu();
}

at::Tensor bytes_tensor(const std::string& text, int64_t size) {
  at::Tensor bytes = at::zeros({size}, at::kByte);
  if (!text.empty()) std::memcpy(bytes.data_ptr(), text.data(), text.size());
  return bytes;
}

std::string text_of(const at::Tensor& bytes, int64_t size) {
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(size)};
}

at::Tensor size_tensor(const std::string& text) {
  return at::full({1}, static_cast<int64_t>(text.size()), at::kLong);
}

}  // namespace

c10::Device device_of(c10d::ProcessGroup& group) {
  return group.getBackendName() == "nccl" ? c10::Device(c10::kCUDA) : c10::Device(c10::kCPU);
}

std::vector<std::string> gather_texts(c10d::ProcessGroup& group, const std::string& mine) {
  if (group.getSize() == 1) return {mine};
  std::vector<int64_t> sizes;
  for (const at::Tensor& one : gather_equal(group, size_tensor(mine))) {
    sizes.push_back(one.item<int64_t>());
  }
  const int64_t longest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<std::string> texts(sizes.size());
  if (longest == 0) return texts;
  const auto gathered = gather_equal(group, bytes_tensor(mine, longest));
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = text_of(gathered[i], sizes[i]);
  return texts;
}

std::string own_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

std::string rank_and_host(int rank) {
  return "rank " + std::to_string(rank) + " on " + own_host();
}

void act_together(c10d::ProcessGroup& group, const std::function<void()>& act,
                  const std::string& what) {
  std::string trouble;
  try {
    act();
  } catch (const std::exception& error) {
    trouble = rank_and_host(group.getRank()) + ": " + error.what();
  }
  std::string first;
  int count = 0;
  for (const std::string& text : gather_texts(group, trouble)) {
    if (text.empty()) continue;
    if (first.empty()) first = text;
    ++count;
  }
  if (count == 0) return;
  const std::string others =
      count > 1 ? " (and " + std::to_string(count - 1) + " more ranks with the same message)" : "";
  throw std::runtime_error(what + first + others);
}

// Sends bytes, because not every backend supports every type.
void broadcast_tensors(const ProcessGroupPointer& group, const std::vector<at::Tensor>& tensors,
                       int root) {
  constexpr size_t kAtATime = 64 << 20;
  if (group->getSize() == 1) return;
  std::vector<at::Tensor> bytes;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() > 0) bytes.push_back(tensor.view(-1).view(at::kByte));
  }
  if (!bytes.empty()) c10d::broadcast_coalesced(group, bytes, kAtATime, root);
}

std::string broadcast_text(c10d::ProcessGroup& group, const std::string& text, int root) {
  if (group.getSize() == 1) return text;
  const auto size = broadcast_from(group, size_tensor(text), root).item<int64_t>();
  const bool is_root = group.getRank() == root;
  return text_of(broadcast_from(group, bytes_tensor(is_root ? text : "", size), root), size);
}

}  // namespace muster
