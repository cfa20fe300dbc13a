// The backend "bare": MPI's own blocking calls. Compiled once against each ABI's mpi.h. Links no
// MPI, because one is loaded before this module.
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include <mpi.h>

#include "programs/bench/fabric.hpp"

namespace muster::programs::bench {
namespace {

constexpr int kTag = 1;

void check_call(int code, const char* call) {
  if (code == MPI_SUCCESS) [[likely]]
    return;
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + " failed: " + text +
                           "; see MPI's own messages, and try fewer ranks");
}

int as_count(std::size_t count) {
  if (count <= INT_MAX) return static_cast<int>(count);
  throw std::runtime_error(
      "MPI's own calls cannot send more than 2147483647 elements, and this would be " +
      std::to_string(count) +
      "; measure this size with the mpi backend, or pass a smaller --max for bare");
}

// Aligned like c10's tensors, so that the backends are compared on equal memory.
class Buffer {
 public:
  void allocate(std::size_t count) {
    memory_.reset();
    count_ = count;
    if (count == 0) return;
    constexpr std::size_t kAlign = 64;
    const std::size_t bytes = (count * sizeof(float) + kAlign - 1) / kAlign * kAlign;
    memory_.reset(static_cast<float*>(std::aligned_alloc(kAlign, bytes)));
    if (!memory_) throw std::bad_alloc();
  }
  void fill(float value) {
    for (std::size_t i = 0; i < count_; ++i) memory_.get()[i] = value;
  }
  [[nodiscard]] float* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::unique_ptr<float, Free> memory_;
  std::size_t count_ = 0;
};

class Bare final : public Fabric {
 public:
  Bare(int rank, int size, bool ours) : Fabric(rank, size), ours_(ours) {}

  void allocate(Shape shape) override {
    from_count_ = as_count(shape.from);
    to_count_ = as_count(shape.to);
    from_.allocate(shape.from);
    to_.allocate(shape.to);
  }

  void fill(float value) override {
    from_.fill(value);
    to_.fill(value);
  }

  void write(std::size_t at, std::span<const float> values) override {
    std::memcpy(from_.data() + at, values.data(), values.size_bytes());
  }

  void read(std::size_t at, std::span<float> values) override {
    const float* result = to_count_ > 0 ? to_.data() : from_.data();
    std::memcpy(values.data(), result + at, values.size_bytes());
  }

  void run(Operation operation) override {
    switch (operation) {
      case Operation::kAllReduce:
        return check_call(MPI_Allreduce(MPI_IN_PLACE, from_.data(), from_count_, MPI_FLOAT, MPI_SUM,
                                        MPI_COMM_WORLD),
                          "MPI_Allreduce");
      case Operation::kAllGather:
        return check_call(MPI_Allgather(from_.data(), from_count_, MPI_FLOAT, to_.data(),
                                        from_count_, MPI_FLOAT, MPI_COMM_WORLD),
                          "MPI_Allgather");
      case Operation::kReduceScatter:
        return check_call(MPI_Reduce_scatter_block(from_.data(), to_.data(), to_count_, MPI_FLOAT,
                                                   MPI_SUM, MPI_COMM_WORLD),
                          "MPI_Reduce_scatter_block");
      case Operation::kBroadcast:
        return check_call(MPI_Bcast(from_.data(), from_count_, MPI_FLOAT, 0, MPI_COMM_WORLD),
                          "MPI_Bcast");
      case Operation::kAllToAll:
        return check_call(MPI_Alltoall(from_.data(), from_count_ / size(), MPI_FLOAT, to_.data(),
                                       to_count_ / size(), MPI_FLOAT, MPI_COMM_WORLD),
                          "MPI_Alltoall");
      case Operation::kSendReceive:
        return check_call(
            MPI_Sendrecv(from_.data(), from_count_, MPI_FLOAT, (rank() + 1) % size(), kTag,
                         to_.data(), to_count_, MPI_FLOAT, (rank() + size() - 1) % size(), kTag,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "MPI_Sendrecv");
      case Operation::kBarrier:
        return check_call(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    }
  }

  void send(const void* data, std::size_t bytes, int to) override {
    check_call(MPI_Send(data, as_count(bytes), MPI_BYTE, to, kTag, MPI_COMM_WORLD), "MPI_Send");
  }

  void receive(void* data, std::size_t bytes, int from) override {
    check_call(
        MPI_Recv(data, as_count(bytes), MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "MPI_Recv");
  }

  void largest(std::span<double> values) override {
    check_call(MPI_Allreduce(MPI_IN_PLACE, values.data(), as_count(values.size()), MPI_DOUBLE,
                             MPI_MAX, MPI_COMM_WORLD),
               "MPI_Allreduce");
  }

  void from_first(std::span<std::int64_t> values) override {
    check_call(MPI_Bcast(values.data(), as_count(values.size_bytes()), MPI_BYTE, 0, MPI_COMM_WORLD),
               "MPI_Bcast");
  }

  void gather(const void* own, std::size_t bytes, void* all) override {
    check_call(MPI_Allgather(own, as_count(bytes), MPI_BYTE, all, as_count(bytes), MPI_BYTE,
                             MPI_COMM_WORLD),
               "MPI_Allgather");
  }

  void finish() override {
    if (ours_) check_call(MPI_Finalize(), "MPI_Finalize");
  }

 private:
  bool ours_;  // this object must finalise MPI
  Buffer from_;
  Buffer to_;
  int from_count_ = 0;
  int to_count_ = 0;
};

// Initialises MPI unless that has been done. Returns whether this call did it.
bool begin_mpi() {
  int begun = 0;
  MPI_Initialized(&begun);
  int level = MPI_THREAD_SINGLE;
  if (begun == 0) {
    // In this case no other thread calls MPI, so the measurement should not include the locks of
    // MPI_THREAD_MULTIPLE. For 8 bytes, they take a third of the time in Open MPI 5.
    check_call(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
  } else {
    MPI_Query_thread(&level);
    // The "mpi" backend also calls MPI, from a thread of its own.
    if (level < MPI_THREAD_MULTIPLE)
      throw std::runtime_error(
          "this MPI cannot be called from several threads, which measuring bare and mpi together "
          "needs; measure them separately: --backends bare, then --backends mpi");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return begun == 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) Fabric* muster_bench_fabric(
    const FabricRequest& request) {
  const bool ours = begin_mpi();
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != request.world.rank || size != request.world.size)
    throw std::runtime_error(
        "MPI says that this is rank " + std::to_string(rank) + " of " + std::to_string(size) +
        ", but the launcher says rank " + std::to_string(request.world.rank) + " of " +
        std::to_string(request.world.size) +
        "; start muster-bench with an mpirun or srun of this MPI, or use --backend gloo");
  return new Bare(rank, size, ours);
}

}  // namespace muster::programs::bench
