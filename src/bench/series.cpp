#include "bench/series.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace muster::bench {
namespace {

const Measurement* point_at(const Series& series, std::int64_t bytes) {
  for (const Measurement* m : series.points) {
    if (m->bytes == bytes) return m;
  }
  return nullptr;
}

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

std::optional<Cost> cost_beside(const Series& bare, const Series& mpi) {
  std::optional<Cost> cost;
  for (const Measurement* m : mpi.points) {
    const Measurement* base = point_at(bare, m->bytes);
    if (base == nullptr || base->times.median <= 0) continue;
    if (!cost) {
      cost = Cost{.operation = mpi.operation, .ranks = mpi.ranks, .smallest = m->bytes};
      cost->added_s = m->times.median - base->times.median;
    }
    cost->largest = m->bytes;
    cost->added_share = m->times.median / base->times.median - 1;
  }
  return cost;
}

double samples_a_host(const Training& training) {
  const double seconds = training.step_s * training.hosts;
  return seconds > 0 ? static_cast<double>(training.samples) / seconds : 0;
}

}  // namespace

std::vector<Series> series_of(const Results& results) {
  std::vector<Series> all;
  struct Latest {
    std::size_t place = 0;
    std::set<std::int64_t> sizes = {};
  };
  std::map<std::tuple<std::string, std::string, int>, Latest> latest;
  for (const Measurement& m : results.measurements) {
    Latest& last = latest[std::tuple(m.operation, m.backend, m.ranks)];
    if (last.sizes.empty() || last.sizes.count(m.bytes) != 0) {
      last = {.place = all.size()};
      all.push_back({.operation = m.operation, .backend = m.backend, .ranks = m.ranks});
    }
    last.sizes.insert(m.bytes);
    all[last.place].points.push_back(&m);
  }
  for (Series& series : all) {
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const auto* one, const auto* other) { return one->bytes < other->bytes; });
    series.rdma = series.points.back()->rdma;
  }
  std::map<std::string, std::size_t> order;
  for (const Series& series : all) order.emplace(series.operation, order.size());
  std::stable_sort(all.begin(), all.end(), [&order](const Series& one, const Series& other) {
    return order[one.operation] < order[other.operation];
  });
  return all;
}

std::vector<std::vector<Series>> groups_of(const std::vector<Series>& all) {
  std::vector<std::vector<Series>> groups;
  for (const Series& series : all) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&series](const auto& group) {
      return group[0].operation == series.operation && group[0].ranks == series.ranks;
    });
    if (found == groups.end()) {
      groups.push_back({series});
    } else {
      found->push_back(series);
    }
  }
  return groups;
}

std::string label(const Series& series, const std::vector<Series>& all) {
  bool ranks = false, rdma = false;
  for (const Series& other : all) {
    if (other.operation != series.operation || other.backend != series.backend) continue;
    ranks |= other.ranks != series.ranks;
    rdma |= other.rdma != series.rdma;
  }
  std::string text = series.backend;
  if (ranks) text += ", " + std::to_string(series.ranks) + " ranks";
  if (rdma) text += series.rdma ? ", RDMA" : ", no RDMA";
  return text;
}

const Measurement* best_of(const Series& series) {
  const Measurement* best = nullptr;
  for (const Measurement* m : series.points) {
    if (m->busbw > (best == nullptr ? 0 : best->busbw)) best = m;
  }
  return best;
}

std::vector<Cost> costs_of(const Results& results) {
  const std::vector<Series> all = series_of(results);
  std::vector<Cost> costs;
  for (const Series& mpi : all) {
    if (mpi.backend != "mpi") continue;
    for (const Series& bare : all) {
      if (bare.backend != "bare" || bare.operation != mpi.operation || bare.ranks != mpi.ranks ||
          bare.rdma != mpi.rdma) {
        continue;
      }
      if (const auto cost = cost_beside(bare, mpi)) costs.push_back(*cost);
      break;
    }
  }
  return costs;
}

const Judgement* expectation(const Results& results, const std::string& operation) {
  for (const Judgement& verdict : results.verdicts) {
    const std::string& about = verdict.about;
    if (verdict.expected <= 0 || operation.empty() || about.rfind(operation, 0) != 0) continue;
    // Matches "all-reduce of 4 hosts", but not "all-reduce-scatter".
    if (about.size() == operation.size() || !is_name_letter(about[operation.size()])) {
      return &verdict;
    }
  }
  return nullptr;
}

std::optional<double> PairMatrix::at(int from, int to) const {
  const auto found = speeds.find({from, to});
  if (found == speeds.end()) return std::nullopt;
  return found->second;
}

std::optional<double> PairMatrix::slower(int one, int other) const {
  const auto there = at(one, other), back = at(other, one);
  if (there && back) return std::min(*there, *back);
  return there ? there : back;
}

bool PairMatrix::slow(double bytes_a_second) const {
  return bytes_a_second < kMarkedShare * median;
}

int PairMatrix::index(const std::string& host) const {
  const auto found = places.find(host);
  return found == places.end() ? -1 : found->second;
}

PairMatrix matrix_of(const Results& results) {
  PairMatrix matrix;
  std::set<std::string> in_pairs;
  for (const Pair& pair : results.pairs) in_pairs.insert({pair.one, pair.other});
  const auto place = [&](const std::string& host) {
    const auto [found, is_new] = matrix.places.emplace(host, static_cast<int>(matrix.hosts.size()));
    if (is_new) matrix.hosts.push_back(host);
    return found->second;
  };
  for (const HostFacts& host : results.hosts) {
    if (in_pairs.count(host.name) != 0) place(host.name);
  }
  std::vector<double> slower, latencies;
  std::set<std::pair<int, int>> seen;
  // In the first look all pairs were measured under the same load. Values of the second look only
  // fill gaps.
  for (const bool again : {false, true}) {
    for (const Pair& pair : results.pairs) {
      if (pair.again != again) continue;
      const int one = place(pair.one), other = place(pair.other);
      if (!seen.insert(std::minmax({one, other})).second) continue;
      matrix.speeds[{one, other}] = pair.forward;
      matrix.speeds[{other, one}] = pair.backward;
      slower.push_back(std::min(pair.forward, pair.backward));
      latencies.push_back(pair.latency_s);
    }
  }
  matrix.median = quantile(std::move(slower), 0.5);
  matrix.latency_s = quantile(std::move(latencies), 0.5);
  return matrix;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - std::floor(place));
}

std::vector<Scaled> scaled(const Results& results) {
  std::map<std::pair<std::string, std::string>, const Training*> fewest;
  for (const Training& training : results.trainings) {
    const Training*& least = fewest[{training.model, training.backend}];
    if (least == nullptr || training.hosts < least->hosts) least = &training;
  }
  std::vector<Scaled> all;
  for (const Training& training : results.trainings) {
    Scaled one{.training = &training};
    if (training.step_s > 0) {
      one.steps_a_second = 1 / training.step_s;
      one.samples_a_second = static_cast<double>(training.samples) / training.step_s;
      one.waiting = std::max(0.0, 1 - training.compute_s / training.step_s);
    }
    const double base = samples_a_host(*fewest[{training.model, training.backend}]);
    if (base > 0) one.efficiency = samples_a_host(training) / base;
    all.push_back(one);
  }
  return all;
}

}  // namespace muster::bench
