#include "mpi/call.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/jit_type.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace muster::mpi {

namespace {

// Waits until the work that is queued on the tensors' devices is done.
void synchronise(const std::vector<at::Tensor>& tensors) {
  for (const auto& tensor : tensors) {
    if (tensor.is_cpu()) continue;
    const c10::impl::VirtualGuardImpl device(tensor.device().type());
    device.getStream(tensor.device()).synchronize();
  }
}

std::vector<c10::Device> devices_of(const std::vector<at::Tensor>& tensors) {
  std::vector<c10::Device> devices;
  for (const auto& tensor : tensors)
    if (!tensor.is_cpu() && std::ranges::count(devices, tensor.device()) == 0)
      devices.push_back(tensor.device());
  return devices;
}

}  // namespace

class TensorOperation final : public Operation {
 public:
  TensorOperation(const char* name, const at::Tensor& example)
      : name_(name),
        count_(example.defined() ? example.numel() : 0),
        type_(example.defined() ? example.scalar_type() : at::ScalarType::Undefined) {}

  [[nodiscard]] std::string text() const override {
    if (type_ == at::ScalarType::Undefined) return name_;
    return std::string(name_) + " of " + std::to_string(count_) + " " + c10::toString(type_);
  }

  [[nodiscard]] const char* name() const { return name_; }

  std::shared_ptr<recorder::GroupRecord> record;  // null if the group is not recorded
  recorder::Begun recorded;
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> kept;  // memory that MPI reads and writes
  std::vector<std::function<void()>> steps;

  // The future is created on first use, because most operations are only waited for.
  c10::intrusive_ptr<c10::ivalue::Future> future() {
    std::unique_lock guard(mutex_);
    if (future_) return future_;
    future_ =
        c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors(), devices_of(outputs));
    const bool is_late = has_ended_;
    guard.unlock();
    if (is_late) mark();
    return future_;
  }

 protected:
  [[nodiscard]] std::exception_ptr failure(const std::string& what) const override {
    return std::make_exception_ptr(
        c10::DistBackendError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, what));
  }

  void begun(std::uint64_t number, bool collective) override {
    if (!record) return;
    recorded.name = name_;
    recorded.number = number;
    recorded.is_message = !collective;
    ticket_ = record->begin(recorded);
  }

  void finish() override {
    if (record) record->end(ticket_);
    // Lets the steps write to ordinary tensors and to inference tensors, whichever thread this is.
    const at::AutoDispatchBelowADInplaceOrView guard;
    while (!steps.empty()) {
      steps.back()();
      steps.pop_back();
    }
    synchronise(outputs);
  }

  void ended() override {
    if (!error()) {  // after an error MPI may still use the memory
      kept.clear();
      steps.clear();
    }
    std::unique_lock guard(mutex_);
    has_ended_ = true;
    const bool is_awaited = future_.defined();
    guard.unlock();
    if (is_awaited) mark();
  }

 private:
  void mark() {
    if (error())
      future_->setError(error());
    else
      future_->markCompleted(c10::IValue(outputs));
  }

  recorder::Ticket ticket_;
  std::mutex mutex_;
  bool has_ended_ = false;
  c10::intrusive_ptr<c10::ivalue::Future> future_;  // set at most once
  const char* name_;
  int64_t count_;
  at::ScalarType type_;
};

namespace {

class MpiWork final : public c10d::Work {
 public:
  MpiWork(Progress& progress, std::shared_ptr<TensorOperation> operation, c10d::OpType type,
          int rank)
      : Work(rank, type), progress_(progress), operation_(std::move(operation)) {}

  bool isCompleted() override { return operation_->is_done(); }
  bool isSuccess() const override { return operation_->is_done() && !operation_->error(); }
  std::exception_ptr exception() const override {
    return operation_->is_done() ? operation_->error() : nullptr;
  }
  int sourceRank() const override { return operation_->source(); }
  std::vector<at::Tensor> result() override { return operation_->outputs; }
  void synchronize() override {}
  void abort() override { progress_.abort("the program aborted an operation"); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return operation_->future(); }

  bool wait(std::chrono::milliseconds timeout) override {
    TORCH_CHECK_WITH(DistBackendError, progress_.wait(*operation_, timeout),
                     "MPI: ", operation_->name(), " did not end within the ", timeout.count(),
                     " ms passed to wait(); it continues in the background");
    if (operation_->error()) std::rethrow_exception(operation_->error());
    return true;
  }

 private:
  Progress& progress_;
  std::shared_ptr<TensorOperation> operation_;
};

// PyTorch has no arithmetic for bool and for unsigned integers wider than 8 bits.
bool can_scale(at::ScalarType type) {
  return type != at::kBool && type != at::kUInt16 && type != at::kUInt32 && type != at::kUInt64;
}

void scale(const at::Tensor& tensor, double factor) {
  if (!at::isIntegralType(tensor.scalar_type(), false)) {
    tensor.mul_(factor);
    return;
  }
  TORCH_CHECK_VALUE(factor == std::trunc(factor), "MPI: PREMUL_SUM of whole numbers by ", factor);
  tensor.mul_(static_cast<int64_t>(factor));
}

void divide(const at::Tensor& tensor, int64_t by) {
  if (at::isIntegralType(tensor.scalar_type(), false))
    tensor.div_(by, "trunc");
  else
    tensor.div_(by);
}

}  // namespace

Type reducible_type(const char* name, at::ScalarType type) {
  switch (type) {
    case at::kChar:
      return Type::kInt8;
    case at::kByte:
      return Type::kUint8;
    case at::kShort:
      return Type::kInt16;
    case at::kUInt16:
      return Type::kUint16;
    case at::kInt:
      return Type::kInt32;
    case at::kUInt32:
      return Type::kUint32;
    case at::kLong:
      return Type::kInt64;
    case at::kUInt64:
      return Type::kUint64;
    case at::kHalf:
      return Type::kFloat16;
    case at::kBFloat16:
      return Type::kBfloat16;
    case at::kFloat:
      return Type::kFloat32;
    case at::kDouble:
      return Type::kFloat64;
    case at::kComplexFloat:
      return Type::kComplex64;
    case at::kComplexDouble:
      return Type::kComplex128;
    case at::kBool:
      return Type::kBool;
    default:
      TORCH_CHECK_TYPE(false, "MPI: ", name, ": ", c10::toString(type),
                       " cannot be reduced; convert the tensor, to float32 for example");
  }
}

Call::Call(MpiBackend& backend, const char* name, c10d::OpType type, const at::Tensor& example,
           std::chrono::milliseconds timeout, bool async)
    : backend_(backend),
      operation_(std::make_shared<TensorOperation>(name, example)),
      type_(type),
      how_{.group = backend.group_,
           .timeout = timeout == c10d::kUnsetTimeout ? backend.options_.timeout : timeout,
           .wait = !async} {
  operation_->record = backend.record();
  operation_->recorded.timeout = how_.timeout;
  inputs(example);
}

void Call::inputs(at::TensorList list) {
  recorder::Inputs& recorded = operation_->recorded.inputs;
  recorded = {};
  for (const auto& tensor : list)
    if (tensor.defined()) recorded.add(c10::toString(tensor.scalar_type()), tensor.sizes());
}

at::Tensor Call::reach(const at::Tensor& tensor, bool& is_copy) {
  const char* name = operation_->name();
  TORCH_CHECK_VALUE(tensor.defined(), "MPI: ", name, ": a tensor is undefined");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, "MPI: ", name, ": a tensor is sparse (",
                    tensor.layout(), "); convert it with to_dense()");
  TORCH_CHECK_VALUE(tensor.is_contiguous(), "MPI: ", name, ": a tensor of shape ", tensor.sizes(),
                    " is not contiguous; pass tensor.contiguous()");
  TORCH_CHECK_VALUE(
      !tensor.is_conj() && !tensor.is_neg(), "MPI: ", name,
      ": a tensor has a lazy conjugation or negation; pass tensor.resolve_conj().resolve_neg()");
  if (tensor.is_cpu()) return tensor;
  const Library& library = backend_.progress_.library();
  const Way way = way_from_device(library.cuda(), tensor.is_cuda(), how_.collective,
                                  backend_.options_.stage_cuda);
  TORCH_CHECK_VALUE(
      way != Way::kRefuse, "MPI: ", name, ": a tensor is on ", tensor.device(),
      ", whose memory this MPI (", library.version(), ") cannot access",
      library.cuda().messages && how_.collective ? " in a non-blocking collective" : "",
      "; use a CUDA-aware MPI that can, use tensors on the CPU, or set "
      "MUSTER_MPI_STAGE_CUDA=1 to copy through the host's memory");
  if (way == Way::kDirect) return tensor;
  is_copy = true;
  return tensor.to(at::kCPU);
}

at::Tensor Call::read(const at::Tensor& tensor) {
  bool is_copy = false;
  operation_->kept.push_back(reach(tensor, is_copy));
  return operation_->kept.back();
}

at::Tensor Call::write(const at::Tensor& tensor) {
  bool is_copy = false;
  at::Tensor memory = reach(tensor, is_copy);
  if (is_copy) after([tensor, memory] { tensor.copy_(memory); });
  operation_->kept.push_back(memory);
  return memory;
}

void Call::copies(const std::vector<at::Tensor>& list) const {
  for (const auto& tensor : list)
    TORCH_CHECK_VALUE(
        tensor.is_cpu() || backend_.options_.stage_cuda, "MPI: ", operation_->name(),
        ": lists of tensors are copied through the host's memory, and one tensor is on ",
        tensor.device(),
        "; allow this with MUSTER_MPI_STAGE_CUDA=1, or pass one tensor for all ranks");
}

void Call::after(std::function<void()> step) {
  operation_->steps.push_back(std::move(step));
}

Reduction Call::reduction(const c10d::ReduceOp& reduce_op, const at::Tensor& memory,
                          const std::vector<at::Tensor>& results) {
  using Op = c10d::ReduceOp;
  const char* name = operation_->name();
  const auto type = memory.scalar_type();
  const bool is_integer = at::isIntegralType(type, true);
  const auto refuse_unless = [&](bool possible, const char* what) {
    TORCH_CHECK_TYPE(possible, "MPI: ", name, ": ", c10::toString(type), " has no ", what);
  };
  switch (Op::RedOpType(reduce_op)) {
    case Op::SUM:
      return Reduction::kSum;
    case Op::PRODUCT:
      return Reduction::kProduct;
    case Op::MIN:
      refuse_unless(!at::isComplexType(type), "minimum");
      return Reduction::kMin;
    case Op::MAX:
      refuse_unless(!at::isComplexType(type), "maximum");
      return Reduction::kMax;
    case Op::BAND:
      refuse_unless(is_integer, "bits to and");
      return Reduction::kBitAnd;
    case Op::BOR:
      refuse_unless(is_integer, "bits to or");
      return Reduction::kBitOr;
    case Op::BXOR:
      refuse_unless(is_integer, "bits to xor");
      return Reduction::kBitXor;
    case Op::AVG:
      refuse_unless(can_scale(type), "average that PyTorch computes");
      after([results, size = backend_.size_] {
        for (const auto& result : results) divide(result, size);
      });
      return Reduction::kSum;
    case Op::PREMUL_SUM: {
      refuse_unless(can_scale(type), "product with a factor that PyTorch computes");
      // PyTorch 2.12 has this type under NCCL's name only.
      const auto* factor =
          static_cast<const c10d::NCCLPreMulSumSupplement*>(reduce_op.supplement_.get());
      TORCH_CHECK_VALUE(factor != nullptr, "MPI: ", name, ": PREMUL_SUM without a factor");
      const at::NoGradGuard guard;
      scale(memory, factor->tensor_factor.defined() ? factor->tensor_factor.item<double>()
                                                    : factor->double_factor);
      return Reduction::kSum;
    }
    default:
      TORCH_CHECK_VALUE(false, "MPI: ", name, ": unknown reduction");
  }
}

void Call::only_with(int peer, bool collective) {
  how_.collective = collective;
  if (peer >= 0) how_.peers = {peer};
}

c10::intrusive_ptr<c10d::Work> Call::begin(std::vector<at::Tensor> outputs, Post post) {
  operation_->outputs = std::move(outputs);
  // MPI reads the memory without regard to device queues, so they must be empty.
  synchronise(operation_->kept);
  backend_.progress_.submit(operation_, how_, post);
  return c10::make_intrusive<MpiWork>(backend_.progress_, operation_, type_, backend_.rank_);
}

}  // namespace muster::mpi
