// Results put in order for people: what belongs to one curve, one matrix, one chart.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// One operation over one backend by so many ranks, smallest size first. The pointers are into the
// Results that it was made of.
struct Series {
  std::string operation;
  std::string backend;
  int ranks = 0;
  bool rdma = false;  // its largest size
  std::vector<const Measurement*> points = {};
};

// Those of an operation together, else in the order in which they were measured. What has the sizes
// of another one once more (with RDMA and without it) is a series of its own.
[[nodiscard]] std::vector<Series> series_of(const Results& results);

// Those of one operation and number of ranks together: what one picture shows.
[[nodiscard]] std::vector<std::vector<Series>> groups_of(const std::vector<Series>& all);

// "mpi", and what is needed to tell it from the others of `all`: "mpi, RDMA".
[[nodiscard]] std::string label(const Series& series, const std::vector<Series>& all);

// Largest busbw; null where it has none (a barrier).
[[nodiscard]] const Measurement* best_of(const Series& series);

// What the backend "mpi" adds to MPI itself ("bare"), by medians of sizes that both measured.
struct Cost {
  std::string operation;
  int ranks = 0;
  std::int64_t smallest = 0;
  double added_s = 0;  // at the smallest size
  std::int64_t largest = 0;
  double added_share = 0;  // at the largest
};
[[nodiscard]] std::vector<Cost> costs_of(const Results& results);

// The first verdict about this operation that knows what to expect.
[[nodiscard]] const Judgement* expectation(const Results& results, const std::string& operation);

// Hosts of pairs in the order of Results::hosts, then others as they appear.
struct PairMatrix {
  std::vector<std::string> hosts;
  std::map<std::string, int> places = {};             // of the hosts
  std::map<std::pair<int, int>, double> speeds = {};  // (from, to); where never measured: none
  double median = 0;                                  // of the slower directions
  double latency_s = 0;                               // median

  [[nodiscard]] std::optional<double> at(int from, int to) const;
  [[nodiscard]] std::optional<double> slower(int one, int other) const;  // of both directions
  [[nodiscard]] bool slow(double bytes_a_second) const;
  [[nodiscard]] int index(const std::string& host) const;  // -1: not in it
};
constexpr double kMarkedShare = 0.75;  // of the median: less is marked
[[nodiscard]] PairMatrix matrix_of(const Results& results);

// `values` in any order; linear between neighbours. 0 of none.
[[nodiscard]] double quantile(std::vector<double> values, double share);

// What follows from one training and the smallest one of its model and backend.
struct Scaled {
  const Training* training = nullptr;
  double steps_a_second = 0;
  double samples_a_second = 0;
  double waiting = 0;     // share of a step
  double efficiency = 0;  // samples a second and host, by those of the fewest hosts
};
[[nodiscard]] std::vector<Scaled> scaled(const Results& results);

}  // namespace muster::bench
