// What moves data between the ranks, whichever it is: MPI itself, or a backend of c10d. Each
// implementation is in a module that is loaded when it is wanted, so that MPI by itself needs no
// PyTorch and no program needs an MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace muster::programs::bench {

enum class Operation : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kSendReceive,
  kBarrier,
};

// Elements (float) of a rank's buffers. No `to`: the result is in the place of `from`.
struct Shape {
  std::size_t from = 0;
  std::size_t to = 0;
};

// Thrown by `run` where the fabric does not have the operation; any other error is a failure.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Every function but the first few is called by all ranks (those of messages: by the two), and
// returns when this rank's part is complete. Errors are exceptions.
class Fabric {
 public:
  Fabric(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  // The buffers that `run` uses, in the memory that the fabric works on; what was there is gone. An
  // empty shape gives the memory back.
  virtual void allocate(Shape shape) = 0;
  // Both of them.
  virtual void fill(float value) = 0;
  virtual void write(std::size_t at, std::span<const float> values) = 0;  // into `from`
  virtual void read(std::size_t at, std::span<float> values) = 0;         // of the result

  // Sums; broadcasts from rank 0; sends to the next rank and receives from the one before.
  virtual void run(Operation operation) = 0;

  virtual void send(const void* data, std::size_t bytes, int to) = 0;
  virtual void receive(void* data, std::size_t bytes, int from) = 0;

  // For the measuring itself. Each value becomes the largest of all ranks'.
  virtual void largest(std::span<double> values) = 0;
  virtual void from_first(std::span<std::int64_t> values) = 0;  // rank 0's for all
  // `bytes` of each rank, one behind the other.
  virtual void gather(const void* own, std::size_t bytes, void* all) = 0;

  // When all went well, once: after it nothing is called.
  virtual void finish() {}

 private:
  int rank_;
  int size_;
};

// What the launcher says that this process is.
struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int hosts = 1;
  bool mpi = false;  // an MPI of this process would find its peers
};

struct FabricRequest {
  std::string backend;  // "bare", "mpi", "gloo", "nccl"
  World world;
  int wait_s = 0;  // how long for the other ranks, then for each operation; 0: as libmuster does
};

// What a module exports, and under which name. The caller owns the result.
using MakeFabric = Fabric* (*)(const FabricRequest& request);
constexpr const char* kMakeFabric = "muster_bench_fabric";

// Of the module of PyTorch: why a backend cannot be made here, as far as that shows without the
// other ranks; empty: it can.
using FindMissing = std::string (*)(const FabricRequest& request);
constexpr const char* kFindMissing = "muster_bench_missing";

}  // namespace muster::programs::bench
