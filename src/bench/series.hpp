// Prepares Results for display: groups the values that belong to one curve, one chart or one
// matrix.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// One operation over one backend with a number of ranks, smallest size first. The pointers point
// into the Results from which the series was made.
struct Series {
  std::string operation;
  std::string backend;
  int ranks = 0;
  bool rdma = false;  // whether its largest size used RDMA
  std::vector<const Measurement*> points = {};
};

// Series of the same operation are adjacent; otherwise the order is that of the measurements. If
// the same sizes were measured twice, with and without RDMA, they form two series.
[[nodiscard]] std::vector<Series> series_of(const Results& results);

// Groups the series with the same operation and number of ranks, which are shown in one picture.
[[nodiscard]] std::vector<std::vector<Series>> groups_of(const std::vector<Series>& all);

// Returns the backend's name and what distinguishes this series from others in `all`: "mpi, RDMA".
[[nodiscard]] std::string label(const Series& series, const std::vector<Series>& all);

// Returns the measurement with the largest busbw; null if no measurement has one, as for a barrier.
[[nodiscard]] const Measurement* best_of(const Series& series);

// What the backend "mpi" costs compared with plain MPI ("bare"), from the medians of the sizes that
// were measured with both.
struct Cost {
  std::string operation;
  int ranks = 0;
  std::int64_t smallest = 0;
  double added_s = 0;  // added time at the smallest size
  std::int64_t largest = 0;
  double added_share = 0;  // added share at the largest size
};
[[nodiscard]] std::vector<Cost> costs_of(const Results& results);

// Returns the first verdict about this operation that has an expected value; null if there is none.
[[nodiscard]] const Judgement* expectation(const Results& results, const std::string& operation);

// The speeds of all pairs. Hosts are in the order of Results::hosts, followed by others in order of
// appearance.
struct PairMatrix {
  std::vector<std::string> hosts;
  std::map<std::string, int> places = {};  // index of each host
  // Key: (from, to). Pairs that were never measured are missing.
  std::map<std::pair<int, int>, double> speeds = {};
  double median = 0;     // over all pairs, of the slower direction
  double latency_s = 0;  // median over all pairs

  [[nodiscard]] std::optional<double> at(int from, int to) const;
  [[nodiscard]] std::optional<double> slower(int one, int other) const;  // the slower direction
  [[nodiscard]] bool slow(double bytes_a_second) const;
  [[nodiscard]] int index(const std::string& host) const;  // -1: not in the matrix
};
constexpr double kMarkedShare = 0.75;  // links below this share of the median are marked
[[nodiscard]] PairMatrix matrix_of(const Results& results);

// `values` may be in any order. Interpolates between neighbours. 0 if there are no values.
[[nodiscard]] double quantile(std::vector<double> values, double share);

// One training, compared with the training of the same model and backend on the fewest hosts.
struct Scaled {
  const Training* training = nullptr;
  double steps_a_second = 0;
  double samples_a_second = 0;
  double waiting = 0;  // share of a step spent waiting
  // Samples per second and host, relative to the training on the fewest hosts.
  double efficiency = 0;
};
[[nodiscard]] std::vector<Scaled> scaled(const Results& results);

}  // namespace muster::bench
