// Which samples a rank sees, in the order of Python's torch.utils.data.DistributedSampler, and from
// any position: also one that another number of ranks has reached.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "muster/api.hpp"

namespace muster {

struct SamplerOptions {
  int64_t samples = 0;  // in the data set
  int64_t global_batch =
      0;  // of all ranks together; not a multiple of the ranks: some have one less
  int rank = 0;
  int ranks = 1;
  bool shuffle = true;
  uint64_t seed = 0;
};

// An epoch is the permutation of torch.randperm with a generator of seed + epoch, filled up from
// its own beginning to whole batches. Batch k is its next `global_batch` samples, whatever the
// number of ranks; rank r has every `ranks`-th of them, from the r-th on.
class MUSTER_API BatchSampler {
 public:
  explicit BatchSampler(const SamplerOptions& options);

  // Where it stands; what a checkpoint keeps.
  struct Position {
    int64_t epoch = 0;
    int64_t batch = 0;  // of the epoch, to come next
    friend bool operator==(const Position&, const Position&) = default;
  };
  [[nodiscard]] Position position() const { return position_; }
  // Throws std::invalid_argument where there is no such batch.
  void seek(Position position);

  [[nodiscard]] int64_t batches_an_epoch() const;
  // This rank's part of the next batch; none when the epoch is over: the next call begins the next.
  [[nodiscard]] std::optional<std::vector<int64_t>> next();

 private:
  SamplerOptions options_;
  Position position_;
  std::vector<int64_t> order_;  // of the epoch that it was made for
  int64_t order_epoch_ = -1;
};

}  // namespace muster
