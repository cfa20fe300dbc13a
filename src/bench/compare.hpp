// Compares two runs of a bench and finds what became faster or slower by more than the noise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

struct Change {
  enum class Kind { kCollective, kPair, kTraining };
  Kind kind = Kind::kCollective;
  std::string operation;   // "all-reduce"; for a pair its hosts; for a training its model
  std::string backend;     // empty for a pair
  int ranks = 0;           // 2 for a pair
  int hosts = 0;           // only for a training
  std::int64_t bytes = 0;  // 0 for a barrier, a pair or a training
  // In seconds: the median of an operation or of a training step, or the time that a pair needs to
  // move a gigabyte. For a training, `b` is converted to the number of samples of `a`.
  double a = 0;
  double b = 0;
  double ratio = 1;      // b is this many times as fast as a
  double noise = 0;      // by how many seconds a and b may differ by chance
  bool differs = false;  // differs by more than the noise
};

// Two medians whose difference is below this share of the faster one count as equal.
constexpr double kLeastChange = 0.02;
constexpr double kPairNoise = 0.10;
constexpr double kTrainingNoise = 0.05;

// Compares what both results contain: measurements with equal operation, backend, size and ranks;
// pairs of the same hosts; trainings with equal model, backend, hosts and ranks.
[[nodiscard]] std::vector<Change> compare(const Results& a, const Results& b);

// Describes what `only` contains and `other` does not.
[[nodiscard]] std::vector<std::string> only_in(const Results& only, const Results& other);

// Describes all changes for people. `name_a` and `name_b` are names for the results, such as their
// files.
[[nodiscard]] std::string compare_text(const Results& a, const Results& b,
                                       const std::string& name_a, const std::string& name_b);

}  // namespace muster::bench
