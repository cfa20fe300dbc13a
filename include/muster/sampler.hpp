/// @file
/// The samples that a rank gets, in the order of Python's torch.utils.data.DistributedSampler. A
/// job can resume at any position, also with another number of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "muster/api.hpp"

namespace muster {

/// Options of a BatchSampler.
struct SamplerOptions {
  int64_t samples = 0;  ///< Size of the data set.
  /// Samples per batch, of all ranks together. If it is no multiple of the number of ranks, some
  /// ranks get one sample less.
  int64_t global_batch = 0;
  int rank = 0;         ///< This rank.
  int ranks = 1;        ///< World size.
  bool shuffle = true;  ///< Whether each epoch has an order of its own.
  uint64_t seed = 0;    ///< Seed of these orders. It must be the same on all ranks.
};

/// Divides each epoch into batches, and each batch among the ranks. The order of an epoch is
/// torch.randperm with a generator of seed + epoch; its beginning is repeated at its end to fill
/// the last batch. Batches do not depend on the number of ranks: of each batch, rank r gets every
/// `ranks`-th sample, beginning with sample r.
class MUSTER_API BatchSampler {
 public:
  /// Begins at the first batch of epoch 0.
  explicit BatchSampler(const SamplerOptions& options);

  /// A place in the sequence of batches, for checkpoints.
  struct Position {
    int64_t epoch = 0;  ///< The epoch.
    int64_t batch = 0;  ///< The next batch of this epoch.
    /// Whether both are the same place.
    friend bool operator==(const Position&, const Position&) = default;
  };
  /// The position of the next batch.
  [[nodiscard]] Position position() const { return position_; }
  /// Continues at this position. Throws std::invalid_argument if there is no such batch.
  void seek(Position position);

  /// Number of batches per epoch.
  [[nodiscard]] int64_t batches_an_epoch() const;
  /// This rank's part of the next batch, as indices into the data set. Returns nothing once at the
  /// end of each epoch; the call after that begins the next epoch.
  [[nodiscard]] std::optional<std::vector<int64_t>> next();

 private:
  SamplerOptions options_;
  Position position_;
  std::vector<int64_t> order_;  // of the epoch order_epoch_
  int64_t order_epoch_ = -1;
};

}  // namespace muster
