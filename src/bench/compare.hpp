// Two runs of a bench side by side: what became faster or slower by more than the noise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

struct Change {
  enum class Kind { kCollective, kPair, kTraining };
  Kind kind = Kind::kCollective;
  std::string operation;   // "all-reduce"; of a pair its hosts; of a training its model
  std::string backend;     // empty: a pair
  int ranks = 0;           // of a pair 2
  int hosts = 0;           // of a training
  std::int64_t bytes = 0;  // 0: a barrier, a pair, a training
  double a = 0;            // seconds, medians: an operation, a step; a gigabyte between a pair
  double b = 0;
  double ratio = 1;      // how many times as fast b is
  double noise = 0;      // seconds that a and b may differ by chance
  bool differs = false;  // by more than that
};

// By more than which share of the faster one two medians must differ at least.
constexpr double kLeastChange = 0.02;
constexpr double kPairNoise = 0.10;
constexpr double kTrainingNoise = 0.05;

// What is in both: equal operation, backend, size and ranks; equal hosts; equal model, backend,
// hosts and ranks.
[[nodiscard]] std::vector<Change> compare(const Results& a, const Results& b);

// What `only` has and `other` has not, in words.
[[nodiscard]] std::vector<std::string> only_in(const Results& only, const Results& other);

// Names are those of the files, say.
[[nodiscard]] std::string compare_text(const Results& a, const Results& b,
                                       const std::string& name_a, const std::string& name_b);

}  // namespace muster::bench
