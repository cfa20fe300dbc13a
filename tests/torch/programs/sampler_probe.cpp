// Prints the samples of every rank, one line per batch:
//   sampler_probe SAMPLES GLOBAL_BATCH RANKS SEED EPOCHS [EPOCH BATCH to begin with]
#include <cstdio>
#include <cstdlib>

#include "muster/sampler.hpp"

int main(int count, char** words) {
  if (count < 6) return 2;
  const auto number = [&](int at) { return std::atoll(words[at]); };
  const auto ranks = static_cast<int>(number(3));
  for (int rank = 0; rank < ranks; ++rank) {
    muster::BatchSampler sampler({.samples = number(1),
                                  .global_batch = number(2),
                                  .rank = rank,
                                  .ranks = ranks,
                                  .seed = static_cast<uint64_t>(number(4))});
    if (count > 7) sampler.seek({.epoch = number(6), .batch = number(7)});
    while (sampler.position().epoch < number(5)) {
      const auto batch = sampler.next();
      if (!batch) continue;
      std::printf("%d", rank);
      for (const int64_t sample : *batch) std::printf(" %lld", static_cast<long long>(sample));
      std::printf("\n");
    }
  }
  return 0;
}
