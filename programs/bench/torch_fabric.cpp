#include "programs/bench/torch_fabric.hpp"

#include <chrono>
#include <stdexcept>
#include <string_view>

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace muster::programs::bench {
namespace {

template <class Options>
Options waited_for() {
  Options options;
  options.asyncOp = false;
  return options;
}

at::Tensor bytes_at(const void* data, std::size_t bytes) {
  return at::from_blob(const_cast<void*>(data), {static_cast<int64_t>(bytes)}, at::kByte);
}

// c10d's messages for operations that a backend lacks. Older versions throw no special type.
bool says_unsupported(const std::exception& error) {
  if (dynamic_cast<const c10::NotImplementedError*>(&error) != nullptr) return true;
  const std::string_view text = error.what();
  for (const char* words : {"does not support", "doesn't support", "not implemented"})
    if (text.find(words) != std::string_view::npos) return true;
  return false;
}

}  // namespace

at::Device device_of(const std::string& name, const c10d::ProcessGroup& group, int local_rank) {
  if (name != "cuda") return at::kCPU;
  if (!at::hasCUDA())
    throw std::runtime_error(
        "this PyTorch sees no CUDA device; use a CUDA build of PyTorch on a host with a GPU, or a "
        "backend other than nccl (for ddp also --device cpu)");
  // The cast is needed because getBoundDeviceId is not const.
  const auto bound = const_cast<c10d::ProcessGroup&>(group).getBoundDeviceId();
  return bound ? *bound : at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(local_rank));
}

void settle_device(const at::Device& device) {
  if (device.is_cpu()) return;
  c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

TorchFabric::TorchFabric(c10::intrusive_ptr<c10d::ProcessGroup> group, at::Device device)
    : Fabric(group->getRank(), group->getSize()),
      group_(std::move(group)),
      device_(device),
      data_(group_->getBackend(device_.type())),
      control_(group_->getBackend(at::kCPU)) {}

void TorchFabric::allocate(Shape shape) {
  from_.clear();
  to_.clear();
  in_place_ = shape.to == 0;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device_);
  from_.push_back(at::empty({static_cast<int64_t>(shape.from)}, options));
  to_.push_back(at::empty({static_cast<int64_t>(shape.to)}, options));
}

void TorchFabric::fill(float value) {
  from_[0].fill_(value);
  to_[0].fill_(value);
  settle_device(device_);
}

void TorchFabric::write(std::size_t at, std::span<const float> values) {
  const auto count = static_cast<int64_t>(values.size());
  from_[0]
      .narrow(0, static_cast<int64_t>(at), count)
      .copy_(at::from_blob(const_cast<float*>(values.data()), {count}));
  settle_device(device_);
}

void TorchFabric::read(std::size_t at, std::span<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  const at::Tensor& result = in_place_ ? from_[0] : to_[0];
  at::from_blob(values.data(), {count}).copy_(result.narrow(0, static_cast<int64_t>(at), count));
  settle_device(device_);
}

TorchFabric::WorkPtr TorchFabric::begin(Operation operation) {
  static const auto all_reduce = waited_for<c10d::AllreduceOptions>();
  static const auto all_gather = waited_for<c10d::AllgatherOptions>();
  static const auto reduce_scatter = waited_for<c10d::ReduceScatterOptions>();
  static const auto broadcast = waited_for<c10d::BroadcastOptions>();
  static const auto all_to_all = waited_for<c10d::AllToAllOptions>();
  std::vector<int64_t> equal_parts;
  switch (operation) {
    case Operation::kAllReduce:
      return data_->allreduce(from_, all_reduce);
    case Operation::kAllGather:
      return data_->_allgather_base(to_[0], from_[0], all_gather);
    case Operation::kReduceScatter:
      return data_->_reduce_scatter_base(to_[0], from_[0], reduce_scatter);
    case Operation::kBroadcast:
      return data_->broadcast(from_, broadcast);
    case Operation::kAllToAll:
      return data_->alltoall_base(to_[0], from_[0], equal_parts, equal_parts, all_to_all);
    default: {
      auto options = waited_for<c10d::BarrierOptions>();
      if (!device_.is_cpu()) options.device = device_;
      return data_->barrier(options);
    }
  }
}

void TorchFabric::send_and_receive() {
  const int next = (rank() + 1) % size();
  const int before = (rank() + size() - 1) % size();
  if (size() == 1) throw Unsupported("c10d's backends cannot send from a rank to itself");
  // NCCL must know of both the send and the receive before it begins either.
  const bool together = data_->supportsCoalescing() && !device_.is_cpu();
  if (together) data_->startCoalescing();
  const auto sent = data_->send(from_, next, 0);
  const auto received = data_->recv(to_, before, 0);
  if (together) {
    if (const auto both = data_->endCoalescing()) both->wait();
    return;
  }
  received->wait();
  sent->wait();
}

void TorchFabric::run(Operation operation) try {
  if (operation == Operation::kSendReceive)
    send_and_receive();
  else if (const WorkPtr work = begin(operation))
    work->wait();
  settle_device(device_);
} catch (const Unsupported&) {
  throw;
} catch (const std::exception& error) {
  if (says_unsupported(error)) throw Unsupported(error.what());
  throw;
}

void TorchFabric::send(const void* data, std::size_t bytes, int to) {
  std::vector<at::Tensor> tensors{bytes_at(data, bytes)};
  control_->send(tensors, to, 0)->wait();
}

void TorchFabric::receive(void* data, std::size_t bytes, int from) {
  std::vector<at::Tensor> tensors{bytes_at(data, bytes)};
  control_->recv(tensors, from, 0)->wait();
}

void TorchFabric::largest(std::span<double> values) {
  std::vector<at::Tensor> tensors{
      at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kDouble)};
  auto options = waited_for<c10d::AllreduceOptions>();
  options.reduceOp = c10d::ReduceOp::MAX;
  control_->allreduce(tensors, options)->wait();
}

void TorchFabric::from_first(std::span<std::int64_t> values) {
  std::vector<at::Tensor> tensors{bytes_at(values.data(), values.size_bytes())};
  control_->broadcast(tensors, waited_for<c10d::BroadcastOptions>())->wait();
}

void TorchFabric::gather(const void* own, std::size_t bytes, void* all) {
  at::Tensor input = bytes_at(own, bytes);
  at::Tensor output = bytes_at(all, bytes * static_cast<std::size_t>(size()));
  control_->_allgather_base(output, input, waited_for<c10d::AllgatherOptions>())->wait();
}

extern "C" MUSTER_API Fabric* muster_bench_fabric(const FabricRequest& request) {
  GroupOptions options;
  if (request.wait_s > 0) options.timeout = std::chrono::seconds(request.wait_s);
  auto group = muster::join().group(request.backend, options);
  const std::string memory = request.backend == "nccl" ? "cuda" : "cpu";
  const at::Device device = device_of(memory, *group, request.world.local_rank);
  return new TorchFabric(std::move(group), device);
}

extern "C" MUSTER_API std::string muster_bench_missing(const FabricRequest& request) {
  if (request.backend != "nccl") return "";
  if (muster::join().group_choice().backend != "nccl")
    return "NCCL is not available: this PyTorch was built without it or sees no CUDA device; use a "
           "CUDA build of PyTorch on hosts with GPUs";
  const int devices = at::detail::getCUDAHooks().deviceCount();
  if (devices == 1 || request.world.local_rank < devices) return "";
  return "there are more ranks on this host than its " + std::to_string(devices) +
         " CUDA devices; start at most as many ranks as devices";
}

}  // namespace muster::programs::bench
