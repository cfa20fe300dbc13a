// A Fabric moves data between ranks: either MPI itself, or a backend of c10d. Each implementation
// is in a module that is loaded on demand, so that bare MPI needs no PyTorch and no program needs
// an MPI.
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

// Number of elements (float) in a rank's buffers. If `to` is 0, the result replaces `from`.
struct Shape {
  std::size_t from = 0;
  std::size_t to = 0;
};

// Thrown by `run` if the fabric does not support the operation. Any other exception is a failure.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// rank, size, allocate, fill, write and read work on this rank alone. All ranks must call the other
// functions together (send and receive: the two ranks involved). These return when this rank's part
// is complete. Errors are thrown.
class Fabric {
 public:
  Fabric(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  // Allocates the buffers for `run`, in the memory that the fabric works on. The old ones are lost.
  // An empty shape only frees the memory.
  virtual void allocate(Shape shape) = 0;
  // Fills both buffers.
  virtual void fill(float value) = 0;
  virtual void write(std::size_t at, std::span<const float> values) = 0;  // into `from`
  virtual void read(std::size_t at, std::span<float> values) = 0;         // from the result

  // Reductions compute sums, broadcasts start from rank 0, and messages go to the next rank and
  // come from the previous one.
  virtual void run(Operation operation) = 0;

  virtual void send(const void* data, std::size_t bytes, int to) = 0;
  virtual void receive(void* data, std::size_t bytes, int from) = 0;

  // For measuring: replaces each value by the largest of all ranks.
  virtual void largest(std::span<double> values) = 0;
  virtual void from_first(std::span<std::int64_t> values) = 0;  // sends rank 0's values to all
  // Gives every rank the `bytes` bytes of all ranks, concatenated in rank order.
  virtual void gather(const void* own, std::size_t bytes, void* all) = 0;

  // Called once, last of all, if there was no error.
  virtual void finish() {}

 private:
  int rank_;
  int size_;
};

// This process's place in the job, according to the launcher.
struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int hosts = 1;
  bool mpi = false;  // whether an MPI in this process would find the other ranks
};

struct FabricRequest {
  std::string backend;  // "bare", "mpi", "gloo", "nccl"
  World world;
  // Seconds to wait for other ranks and for each operation; 0: libmuster's defaults.
  int wait_s = 0;
};

// The function with which a module makes its fabric, and the name under which the module exports
// it. The caller owns the returned object.
using MakeFabric = Fabric* (*)(const FabricRequest& request);
constexpr const char* kMakeFabric = "muster_bench_fabric";

// Another function that PyTorch's module exports. It returns why a backend cannot be made here, as
// far as this rank alone can tell, or "" if it can.
using FindMissing = std::string (*)(const FabricRequest& request);
constexpr const char* kFindMissing = "muster_bench_missing";

}  // namespace muster::programs::bench
