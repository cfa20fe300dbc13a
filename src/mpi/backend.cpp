#include "mpi/backend.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "mpi/call.hpp"
#include "mpi/recording.hpp"
#include "mpi/runtime.hpp"

namespace muster::mpi {
namespace {

using Requests = std::vector<Request>;
using c10d::OpType;

std::byte* bytes_of(const at::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

const at::Tensor& only_one(const char* name, const MpiBackend::Tensors& tensors) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "MPI: ", name, " takes one tensor, not ", tensors.size());
  return tensors.front();
}

// Throws unless `list` has one tensor per rank, each with as many elements as `one` and of its
// type.
void check_alike(const char* name, const at::Tensor& one, const MpiBackend::Tensors& list,
                 int size) {
  TORCH_CHECK_VALUE(list.size() == static_cast<std::size_t>(size), "MPI: ", name, ": ", list.size(),
                    " tensors for ", size, " ranks");
  for (const auto& tensor : list)
    TORCH_CHECK_VALUE(tensor.numel() == one.numel() && tensor.scalar_type() == one.scalar_type(),
                      "MPI: ", name, ": a tensor of ", tensor.numel(), " ",
                      c10::toString(tensor.scalar_type()), " beside one of ", one.numel(), " ",
                      c10::toString(one.scalar_type()));
}

void check_base(const char* name, const at::Tensor& whole, const at::Tensor& part, int size) {
  TORCH_CHECK_VALUE(
      whole.numel() == part.numel() * size && whole.scalar_type() == part.scalar_type(),
      "MPI: ", name, ": ", whole.numel(), " ", c10::toString(whole.scalar_type()), " for ", size,
      " ranks with ", part.numel(), " ", c10::toString(part.scalar_type()), " each");
}

void check_pairs(const char* name, const MpiBackend::Tensors& outputs,
                 const MpiBackend::Tensors& inputs) {
  TORCH_CHECK_VALUE(!inputs.empty() && inputs.size() == outputs.size(), "MPI: ", name, ": ",
                    outputs.size(), " outputs for ", inputs.size(), " inputs");
}

void check_root(const char* name, int64_t root, int size) {
  TORCH_CHECK_VALUE(root >= 0 && root < size, "MPI: ", name, ": rank ", root, " is none of ", size);
}

// Returns a new tensor on the host with room for all of `list`, one after the other. list[i] is
// what this rank sends to, or receives from, rank i.
at::Tensor flat(const MpiBackend::Tensors& list) {
  const auto total = std::accumulate(list.begin(), list.end(), int64_t{0},
                                     [](int64_t sum, const auto& t) { return sum + t.numel(); });
  return at::empty({total}, list.front().options().device(at::kCPU));
}

void copy_in(const at::Tensor& flat, const MpiBackend::Tensors& list) {
  const at::NoGradGuard guard;
  int64_t at = 0;
  for (const auto& tensor : list) {
    flat.narrow(0, at, tensor.numel()).view(tensor.sizes()).copy_(tensor);
    at += tensor.numel();
  }
}

void copy_out(const at::Tensor& flat, const MpiBackend::Tensors& list) {
  int64_t at = 0;
  for (const auto& tensor : list) {
    tensor.copy_(flat.narrow(0, at, tensor.numel()).view(tensor.sizes()));
    at += tensor.numel();
  }
}

// Returns how many elements one MPI call may get in a reduction of `bytes` bytes in total.
std::size_t most_at_once(const Library& library, std::size_t bytes, std::size_t element_size) {
  const std::size_t piece = library.piece_bytes();
  if (piece == 0 || bytes <= 2 * piece) return library.most_elements();
  return std::min(library.most_elements(), piece / element_size);
}

// Calls `piece(at, count, request)` for pieces of at most `most` of `total` units. `piece` runs at
// least once, so that empty operations reach MPI too.
template <class Piece>
int in_pieces(std::size_t total, std::size_t most, Requests& requests, const Piece& piece) {
  int error = 0;
  for (std::size_t at = 0; error == 0 && (at < total || at == 0); at += most)
    error = piece(at, std::min(most, total - at), requests.emplace_back());
  return error;
}

// Does the same for the elements of `memory`, which are part of a reduction of `bytes` bytes in
// total. `piece` gets the offset in bytes and the number of elements.
template <class Piece>
int in_pieces(const Library& library, const at::Tensor& memory, std::size_t bytes,
              Requests& requests, const Piece& piece) {
  const auto total = static_cast<std::size_t>(memory.numel());
  const auto most = most_at_once(library, bytes, memory.element_size());
  return in_pieces(total, most, requests, [&](std::size_t at, std::size_t count, Request& r) {
    return piece(at * memory.element_size(), count, r);
  });
}

auto allreduce_post(const at::Tensor& memory, Type type, Reduction reduction) {
  return [=](Library& library, Comm comm, Requests& requests) {
    return in_pieces(library, memory, memory.nbytes(), requests,
                     [&](std::size_t at, std::size_t count, Request& r) {
                       return library.iallreduce(bytes_of(memory) + at, count, type, reduction,
                                                 comm, r);
                     });
  };
}

// Returns a function that begins one all-gather for each pair of an input and an output.
auto allgather_post(const MpiBackend::Tensors& from, const MpiBackend::Tensors& to) {
  return [&](Library& library, Comm comm, Requests& requests) {
    int error = 0;
    for (std::size_t i = 0; i < from.size() && error == 0; ++i)
      error = library.iallgather(bytes_of(from[i]), bytes_of(to[i]), from[i].nbytes(), comm,
                                 requests.emplace_back());
    return error;
  };
}

// Turns `begin`, which begins a single request, into a function that Post accepts.
template <class Begin>
auto single(Begin begin) {
  return [=](Library& library, Comm comm, Requests& requests) {
    return begin(library, comm, requests.emplace_back());
  };
}

std::vector<std::size_t> split_bytes(const at::Tensor& tensor, const std::vector<int64_t>& splits,
                                     int size) {
  const auto ranks = static_cast<std::size_t>(size);
  const auto rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  const std::size_t row = rows == 0 ? 0 : tensor.nbytes() / static_cast<std::size_t>(rows);
  if (splits.empty()) {
    TORCH_CHECK_VALUE(rows % size == 0, "MPI: all_to_all: ", rows,
                      " rows cannot be split equally between ", size, " ranks");
    return std::vector(ranks, row * static_cast<std::size_t>(rows / size));
  }
  TORCH_CHECK_VALUE(splits.size() == ranks &&
                        std::ranges::all_of(splits, [](int64_t split) { return split >= 0; }) &&
                        std::accumulate(splits.begin(), splits.end(), int64_t{0}) == rows,
                    "MPI: all_to_all: splits ", splits, " for ", size, " ranks and ", rows,
                    " rows");
  std::vector<std::size_t> bytes;
  for (const int64_t split : splits) bytes.push_back(row * static_cast<std::size_t>(split));
  return bytes;
}

// Returns null if this rank is not one of `ranks`. Throws errors of the same type as operations do.
c10::intrusive_ptr<c10d::Backend> with_members(Progress& progress, const Group& parent,
                                               const std::vector<int>& ranks,
                                               const Options& options) {
  for (const int rank : ranks) {
    check_root("a group", rank, parent.size());
    TORCH_CHECK_VALUE(std::ranges::count(ranks, rank) == 1, "MPI: a group: rank ", rank, " twice");
  }
  if (std::ranges::count(ranks, parent.rank) == 0) return nullptr;
  std::shared_ptr<Group> group;
  try {
    group = progress.subgroup(parent, ranks, options.timeout);
  } catch (const std::runtime_error& error) {
    C10_THROW_ERROR(DistBackendError, error.what());
  }
  return c10::make_intrusive<MpiBackend>(progress, std::move(group), options);
}

Options with_environment(Options options) {
  const char* stage = std::getenv("MUSTER_MPI_STAGE_CUDA");
  if (stage != nullptr && std::string(stage) == "1") options.stage_cuda = true;
  return options;
}

}  // namespace

MpiBackend::MpiBackend(Progress& progress, std::shared_ptr<Group> group,
                       const mpi::Options& options)
    : Backend(group->rank, group->size()),
      progress_(progress),
      group_(std::move(group)),
      options_(options),
      record_(new_record(*group_)) {}

c10::intrusive_ptr<c10d::Backend::Options> MpiBackend::getBackendOptions() {
  return c10::make_intrusive<Backend::Options>("mpi", options_.timeout);
}

MpiBackend::WorkPtr MpiBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) {
  const auto& tensor = only_one("broadcast", tensors);
  check_root("broadcast", opts.rootRank, size_);
  Call call(*this, "broadcast", OpType::BROADCAST, tensor, opts.timeout, opts.asyncOp);
  const at::Tensor memory = call.write(tensor);
  // Pieces rather than one derived datatype: Intel MPI fails on such a type beyond 2 GiB.
  return call.begin(tensors, [&](Library& library, Comm comm, Requests& requests) {
    const auto piece = [&](std::size_t at, std::size_t bytes, Request& request) {
      return library.ibroadcast(bytes_of(memory) + at, bytes, static_cast<int>(opts.rootRank), comm,
                                request);
    };
    return in_pieces(memory.nbytes(), library.most_elements(), requests, piece);
  });
}

MpiBackend::WorkPtr MpiBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  const auto& tensor = only_one("all_reduce", tensors);
  Call call(*this, "all_reduce", OpType::ALLREDUCE, tensor, opts.timeout, opts.asyncOp);
  const at::Tensor memory = call.write(tensor);
  const Type type = reducible_type("all_reduce", memory.scalar_type());
  const Reduction reduction = call.reduction(opts.reduceOp, memory, {memory});
  return call.begin(tensors, allreduce_post(memory, type, reduction));
}

MpiBackend::WorkPtr MpiBackend::allreduce_coalesced(Tensors& tensors,
                                                    const c10d::AllreduceCoalescedOptions& opts) {
  constexpr const char* kName = "all_reduce_coalesced";
  TORCH_CHECK_VALUE(!tensors.empty(), "MPI: ", kName, " takes at least one tensor");
  Call call(*this, kName, OpType::ALLREDUCE_COALESCED, tensors.front(), opts.timeout, opts.asyncOp);
  call.inputs(tensors);
  std::vector<std::function<int(Library&, Comm, Requests&)>> posts;
  for (const auto& tensor : tensors) {
    const at::Tensor memory = call.write(tensor);
    const Type type = reducible_type(kName, memory.scalar_type());
    posts.push_back(allreduce_post(memory, type, call.reduction(opts.reduceOp, memory, {memory})));
  }
  return call.begin(tensors, [&](Library& library, Comm comm, Requests& requests) {
    int error = 0;
    for (const auto& post : posts)
      if (error == 0) error = post(library, comm, requests);
    return error;
  });
}

MpiBackend::WorkPtr MpiBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& opts) {
  const auto& tensor = only_one("reduce", tensors);
  check_root("reduce", opts.rootRank, size_);
  Call call(*this, "reduce", OpType::REDUCE, tensor, opts.timeout, opts.asyncOp);
  const int root = static_cast<int>(opts.rootRank);
  // Only the root may change its input, so the other ranks scale a copy.
  const bool scales = opts.reduceOp == c10d::ReduceOp::PREMUL_SUM;
  const at::Tensor memory = rank_ == root ? call.write(tensor)
                            : scales      ? call.read(tensor.clone())
                                          : call.read(tensor);
  const Type type = reducible_type("reduce", memory.scalar_type());
  const Tensors results = rank_ == root ? Tensors{memory} : Tensors{};
  const Reduction reduction = call.reduction(opts.reduceOp, memory, results);
  return call.begin(tensors, [&](Library& library, Comm comm, Requests& requests) {
    return in_pieces(library, memory, memory.nbytes(), requests,
                     [&](std::size_t at, std::size_t count, Request& r) {
                       auto* data = bytes_of(memory) + at;
                       return library.ireduce(data, data, count, type, reduction, root, comm, r);
                     });
  });
}

MpiBackend::WorkPtr MpiBackend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& opts) {
  const auto& input = only_one("all_gather", inputs);
  TORCH_CHECK_VALUE(outputs.size() == 1, "MPI: all_gather takes one list of outputs");
  check_alike("all_gather", input, outputs.front(), size_);
  Call call(*this, "all_gather", OpType::ALLGATHER, input, opts.timeout, opts.asyncOp);
  call.copies(outputs.front());
  const at::Tensor from = call.read(input);
  const at::Tensor to = call.write(flat(outputs.front()));
  call.after([to, list = outputs.front()] { copy_out(to, list); });
  return call.begin(outputs.front(), single([&](Library& library, Comm comm, Request& request) {
                      return library.iallgather(bytes_of(from), bytes_of(to), from.nbytes(), comm,
                                                request);
                    }));
}

MpiBackend::WorkPtr MpiBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                const c10d::AllgatherOptions& opts) {
  Tensors outputs{output};
  Tensors inputs{input};
  return allgather_into_tensor_coalesced(outputs, inputs, opts);
}

MpiBackend::WorkPtr MpiBackend::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  constexpr const char* kName = "all_gather_into_tensor";
  check_pairs(kName, outputs, inputs);
  Call call(*this, kName, OpType::_ALLGATHER_BASE, inputs.front(), opts.timeout, opts.asyncOp);
  call.inputs(inputs);
  Tensors from;
  Tensors to;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_base(kName, outputs[i], inputs[i], size_);
    from.push_back(call.read(inputs[i]));
    to.push_back(call.write(outputs[i]));
  }
  return call.begin(outputs, allgather_post(from, to));
}

MpiBackend::WorkPtr MpiBackend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                                    const c10d::AllgatherOptions& opts) {
  constexpr const char* kName = "all_gather_coalesced";
  TORCH_CHECK_VALUE(!inputs.empty() && outputs.size() == static_cast<std::size_t>(size_),
                    "MPI: ", kName, ": ", outputs.size(), " lists for ", size_, " ranks");
  Tensors flat_outputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensors list;
    for (const auto& of_rank : outputs) {
      TORCH_CHECK_VALUE(of_rank.size() == inputs.size(), "MPI: ", kName, ": ", of_rank.size(),
                        " outputs for ", inputs.size(), " inputs");
      list.push_back(of_rank[i]);
    }
    check_alike(kName, inputs[i], list, size_);
    flat_outputs.push_back(flat(list));
  }
  Call call(*this, kName, OpType::ALLGATHER_COALESCED, inputs.front(), opts.timeout, opts.asyncOp);
  call.inputs(inputs);
  Tensors from;
  for (const auto& input : inputs) from.push_back(call.read(input));
  for (const auto& of_rank : outputs) call.copies(of_rank);
  for (const auto& each : flat_outputs) call.write(each);
  call.after([flat_outputs, outputs] {
    for (std::size_t i = 0; i < flat_outputs.size(); ++i) {
      Tensors list;
      for (const auto& of_rank : outputs) list.push_back(of_rank[i]);
      copy_out(flat_outputs[i], list);
    }
  });
  Tensors all;
  for (const auto& of_rank : outputs) all.insert(all.end(), of_rank.begin(), of_rank.end());
  return call.begin(all, allgather_post(from, flat_outputs));
}

MpiBackend::WorkPtr MpiBackend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                       const c10d::GatherOptions& opts) {
  const auto& input = only_one("gather", inputs);
  check_root("gather", opts.rootRank, size_);
  const bool is_root = opts.rootRank == rank_;
  TORCH_CHECK_VALUE(outputs.size() == (is_root ? 1 : 0),
                    "MPI: gather: the root, and no other rank, ", "passes one list of outputs");
  Call call(*this, "gather", OpType::GATHER, input, opts.timeout, opts.asyncOp);
  const at::Tensor from = call.read(input);
  at::Tensor to;
  if (is_root) {
    check_alike("gather", input, outputs.front(), size_);
    call.copies(outputs.front());
    to = call.write(flat(outputs.front()));
    call.after([to, list = outputs.front()] { copy_out(to, list); });
  }
  return call.begin(is_root ? outputs.front() : Tensors{},
                    single([&](Library& library, Comm comm, Request& request) {
                      return library.igather(bytes_of(from), is_root ? bytes_of(to) : nullptr,
                                             from.nbytes(), static_cast<int>(opts.rootRank), comm,
                                             request);
                    }));
}

MpiBackend::WorkPtr MpiBackend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                        const c10d::ScatterOptions& opts) {
  const auto& output = only_one("scatter", outputs);
  check_root("scatter", opts.rootRank, size_);
  const bool is_root = opts.rootRank == rank_;
  TORCH_CHECK_VALUE(inputs.size() == (is_root ? 1 : 0),
                    "MPI: scatter: the root, and no other rank, passes one list of inputs");
  Call call(*this, "scatter", OpType::SCATTER, output, opts.timeout, opts.asyncOp);
  const at::Tensor to = call.write(output);
  at::Tensor from;
  if (is_root) {
    check_alike("scatter", output, inputs.front(), size_);
    call.copies(inputs.front());
    from = call.read(flat(inputs.front()));
    copy_in(from, inputs.front());
  }
  return call.begin(outputs, single([&](Library& library, Comm comm, Request& request) {
                      return library.iscatter(is_root ? bytes_of(from) : nullptr, bytes_of(to),
                                              to.nbytes(), static_cast<int>(opts.rootRank), comm,
                                              request);
                    }));
}

MpiBackend::WorkPtr MpiBackend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                               const c10d::ReduceScatterOptions& opts) {
  const auto& output = only_one("reduce_scatter", outputs);
  TORCH_CHECK_VALUE(inputs.size() == 1, "MPI: reduce_scatter takes one list of inputs");
  check_alike("reduce_scatter", output, inputs.front(), size_);
  Call call(*this, "reduce_scatter", OpType::REDUCE_SCATTER, output, opts.timeout, opts.asyncOp);
  call.inputs(inputs.front());
  call.copies(inputs.front());
  const at::Tensor from = flat(inputs.front());
  copy_in(from, inputs.front());
  return reduce_scatter_into(call, outputs, {from}, opts.reduceOp);
}

MpiBackend::WorkPtr MpiBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                     const c10d::ReduceScatterOptions& opts) {
  Tensors outputs{output};
  Tensors inputs{input};
  return reduce_scatter_tensor_coalesced(outputs, inputs, opts);
}

MpiBackend::WorkPtr MpiBackend::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) {
  constexpr const char* kName = "reduce_scatter_tensor";
  check_pairs(kName, outputs, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) check_base(kName, inputs[i], outputs[i], size_);
  Call call(*this, kName, OpType::_REDUCE_SCATTER_BASE, outputs.front(), opts.timeout,
            opts.asyncOp);
  call.inputs(inputs);
  const bool scales = opts.reduceOp == c10d::ReduceOp::PREMUL_SUM;
  Tensors from;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    // MPI does not allow an input and an output to overlap.
    const bool overlaps = inputs[i].storage().is_alias_of(outputs[i].storage());
    from.push_back(scales || overlaps ? inputs[i].clone() : inputs[i]);
  }
  return reduce_scatter_into(call, outputs, from, opts.reduceOp);
}

// The inputs may be scaled in place: callers pass copies of those that must not change.
MpiBackend::WorkPtr MpiBackend::reduce_scatter_into(Call& call, const Tensors& outputs,
                                                    const Tensors& inputs,
                                                    const c10d::ReduceOp& reduce_op) {
  struct Part {
    at::Tensor from;
    at::Tensor to;
    Type type;
    Reduction reduction;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor from = call.read(inputs[i]);
    const at::Tensor to = call.write(outputs[i]);
    const Type type = reducible_type("reduce_scatter", from.scalar_type());
    const Reduction reduction = call.reduction(reduce_op, from, {to});
    parts.push_back({.from = from, .to = to, .type = type, .reduction = reduction});
  }
  return call.begin(outputs, [&](Library& library, Comm comm, Requests& requests) {
    int error = 0;
    for (const auto& [from, to, type, reduction] : parts) {
      if (error != 0) break;
      const auto most = most_at_once(library, from.nbytes(), from.element_size());
      if (static_cast<std::size_t>(from.numel()) <= most) {
        error = library.ireduce_scatter(bytes_of(from), bytes_of(to),
                                        static_cast<std::size_t>(to.numel()), type, reduction, comm,
                                        requests.emplace_back());
        continue;
      }
      // The data is too large for one call, or faster in pieces: reduce each rank's part
      // separately.
      for (int root = 0; root < size_ && error == 0; ++root)
        error = in_pieces(library, to, from.nbytes(), requests,
                          [&](std::size_t at, std::size_t count, Request& request) {
                            const auto* data = bytes_of(from) +
                                               (static_cast<std::size_t>(root) * to.nbytes()) + at;
                            return library.ireduce(data, bytes_of(to) + at, count, type, reduction,
                                                   root, comm, request);
                          });
    }
    return error;
  });
}

MpiBackend::WorkPtr MpiBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                              std::vector<int64_t>& output_splits,
                                              std::vector<int64_t>& input_splits,
                                              const c10d::AllToAllOptions& opts) {
  TORCH_CHECK_VALUE(output.scalar_type() == input.scalar_type(), "MPI: all_to_all: from ",
                    c10::toString(input.scalar_type()), " to ",
                    c10::toString(output.scalar_type()));
  const auto receive_bytes = split_bytes(output, output_splits, size_);
  const auto send_bytes = split_bytes(input, input_splits, size_);
  Call call(*this, "all_to_all", OpType::ALLTOALL_BASE, input, opts.timeout, opts.asyncOp);
  return exchange(call, {output}, call.write(output), receive_bytes, call.read(input), send_bytes);
}

MpiBackend::WorkPtr MpiBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                         const c10d::AllToAllOptions& opts) {
  const auto ranks = static_cast<std::size_t>(size_);
  TORCH_CHECK_VALUE(outputs.size() == ranks && inputs.size() == ranks,
                    "MPI: all_to_all: ", outputs.size(), " outputs and ", inputs.size(),
                    " inputs for ", size_, " ranks");
  for (const auto* list : {&outputs, &inputs})
    for (const auto& tensor : *list)
      TORCH_CHECK_VALUE(tensor.scalar_type() == inputs.front().scalar_type(),
                        "MPI: all_to_all: tensors of ", c10::toString(tensor.scalar_type()),
                        " and of ", c10::toString(inputs.front().scalar_type()));
  Call call(*this, "all_to_all", OpType::ALLTOALL, inputs.front(), opts.timeout, opts.asyncOp);
  call.inputs(inputs);
  call.copies(inputs);
  call.copies(outputs);
  const at::Tensor from = call.read(flat(inputs));
  copy_in(from, inputs);
  const at::Tensor to = call.write(flat(outputs));
  call.after([to, outputs] { copy_out(to, outputs); });
  const auto sizes = [](const Tensors& list) {
    std::vector<std::size_t> bytes;
    for (const auto& tensor : list) bytes.push_back(tensor.nbytes());
    return bytes;
  };
  return exchange(call, outputs, to, sizes(outputs), from, sizes(inputs));
}

MpiBackend::WorkPtr MpiBackend::exchange(Call& call, const Tensors& outputs, const at::Tensor& to,
                                         const std::vector<std::size_t>& receive_bytes,
                                         const at::Tensor& from,
                                         const std::vector<std::size_t>& send_bytes) {
  return call.begin(outputs, single([&](Library& library, Comm comm, Request& request) {
                      return library.ialltoall(bytes_of(from), send_bytes, bytes_of(to),
                                               receive_bytes, comm, request);
                    }));
}

void MpiBackend::check_tag(const char* name, int tag) const {
  TORCH_CHECK_VALUE(tag >= 0 && tag <= group_->highest_tag, "MPI: ", name, ": tag ", tag,
                    " is not between 0 and ", group_->highest_tag);
}

MpiBackend::WorkPtr MpiBackend::send(Tensors& tensors, int to, int tag) {
  const auto& tensor = only_one("send", tensors);
  check_root("send", to, size_);
  check_tag("send", tag);
  Call call(*this, "send", OpType::SEND, tensor, c10d::kUnsetTimeout, true);
  call.only_with(to, false);
  const at::Tensor memory = call.read(tensor);
  return call.begin(tensors, single([&](Library& library, Comm comm, Request& request) {
                      return library.isend(bytes_of(memory), memory.nbytes(), to, tag, comm,
                                           request);
                    }));
}

MpiBackend::WorkPtr MpiBackend::recv(Tensors& tensors, int from, int tag) {
  check_root("recv", from, size_);
  return receive(tensors, from, tag, "recv", OpType::RECV);
}

MpiBackend::WorkPtr MpiBackend::recvAnysource(Tensors& tensors, int tag) {
  return receive(tensors, kAnySource, tag, "recv from any rank", OpType::RECVANYSOURCE);
}

MpiBackend::WorkPtr MpiBackend::receive(Tensors& tensors, int from, int tag, const char* name,
                                        OpType type) {
  const auto& tensor = only_one(name, tensors);
  check_tag(name, tag);
  Call call(*this, name, type, tensor, c10d::kUnsetTimeout, true);
  call.only_with(from, false);
  const at::Tensor memory = call.write(tensor);
  return call.begin(tensors, single([&](Library& library, Comm comm, Request& request) {
                      return library.ireceive(bytes_of(memory), memory.nbytes(), from, tag, comm,
                                              request);
                    }));
}

MpiBackend::WorkPtr MpiBackend::barrier(const c10d::BarrierOptions& opts) {
  Call call(*this, "barrier", OpType::BARRIER, {}, opts.timeout, opts.asyncOp);
  return call.begin({}, single([](Library& library, Comm comm, Request& request) {
                      return library.ibarrier(comm, request);
                    }));
}

void MpiBackend::monitoredBarrier(const c10d::BarrierOptions& opts, bool /*wait_all_ranks*/) {
  barrier(opts)->wait();
}

c10::intrusive_ptr<c10d::Backend> MpiBackend::split(
    const c10::intrusive_ptr<c10d::Store>& /*store*/, const std::vector<int>& ranks,
    const c10::intrusive_ptr<Backend::Options>& opts) {
  auto options = options_;
  if (opts) options.timeout = opts->timeout;
  return with_members(progress_, *group_, ranks, options);
}

c10::intrusive_ptr<c10d::Backend> backend(const std::vector<int>& ranks, const Options& options) {
  Progress& progress = process_progress();
  return with_members(progress, *progress.world(), ranks, with_environment(options));
}

c10::intrusive_ptr<c10d::Backend> backend(const Options& options) {
  const auto wanted = with_environment(options);
  Progress& progress = process_progress();
  // Two groups must not share a communicator: each rank may run their operations in a different
  // order.
  static std::atomic<bool> is_first = true;
  if (is_first.exchange(false))
    return c10::make_intrusive<MpiBackend>(progress, progress.world(), wanted);
  return with_members(progress, *progress.world(), progress.world()->world_ranks, wanted);
}

Found find() {
  const Loaded& loaded = loaded_library();
  if (!loaded.library && loaded.path.empty())
    return {.usable = false,
            .text = "muster found no MPI library that it can use. It tried:" + loaded.tried};
  return {.usable = true, .text = loaded.path};
}

}  // namespace muster::mpi
