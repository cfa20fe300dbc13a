/// @file
/// The samples that a rank gets, in the order of Python's torch.utils.data.DistributedSampler. A
/// job can resume at any position, even with a different number of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "muster/api.hpp"

namespace muster {

/// Options of a BatchSampler.
struct SamplerOptions {
  int64_t samples = 0;  ///< Size of the data set.
  /// Samples per batch, of all ranks together. If it is not a multiple of the number of ranks, some
  /// ranks get one sample less.
  int64_t global_batch = 0;
  int rank = 0;   ///< This rank.
  int ranks = 1;  ///< World size.
  /// Whether each epoch has a random order of its own. If false, all have the data set's order.
  bool shuffle = true;
  uint64_t seed = 0;  ///< Seed of the random orders. It must be the same on all ranks.
};

/// Divides each epoch into batches, and each batch among the ranks. The order of a shuffled epoch
/// is that of torch.randperm with the seed `seed` + epoch. The last batch is filled up with the
/// first samples of this order. Batches do not depend on the number of ranks: of each batch, rank r
/// gets every `ranks`-th sample, beginning with sample r.
class MUSTER_API BatchSampler {
 public:
  /// Begins at the first batch of epoch 0.
  explicit BatchSampler(const SamplerOptions& options);

  /// A place in the sequence of batches, for checkpoints.
  struct Position {
    int64_t epoch = 0;  ///< The epoch.
    int64_t batch = 0;  ///< The next batch, or batches_an_epoch() at the end.
    /// Whether both are the same place.
    friend bool operator==(const Position&, const Position&) = default;
  };
  /// Returns the position of the next batch.
  [[nodiscard]] Position position() const { return position_; }
  /// Continues at this position. Throws std::invalid_argument if an epoch has no such position.
  void seek(Position position);

  /// Returns the number of batches per epoch.
  [[nodiscard]] int64_t batches_an_epoch() const;
  /// Returns this rank's part of the next batch, as indices into the data set. At the end of each
  /// epoch it returns std::nullopt once; the call after that begins the next epoch.
  [[nodiscard]] std::optional<std::vector<int64_t>> next();

 private:
  SamplerOptions options_;
  Position position_;
  std::vector<int64_t> order_;  // of the epoch order_epoch_
  int64_t order_epoch_ = -1;
};

}  // namespace muster
