#include "bench/needed_link.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/numbers.hpp"

namespace muster::bench {
namespace {

// How many times each host sends all bytes, in the limit of many hosts. A ring of n hosts sends
// (n-1)/n of them in each pass.
constexpr double kAllReducePasses = 2;  // reduce-scatter and all-gather
constexpr double kShardedPasses = 3;    // all-gather in forward and in backward, reduce-scatter

std::string link(double bits) {
  return speed(bits / 8);
}

std::string few_hosts(const NeededLink& needed, int hosts) {
  if (hosts < 2) return "";
  return fmt::format(" {} on {} hosts,", link(needed.replicated), hosts);
}

std::string sentence_of(const NeededLink& needed, const Training& training, int hosts) {
  if (needed.replicated_many <= 0) {
    return fmt::format(
        "{}: the time of the backward pass was not measured, so the link speed that would hide the "
        "exchange of gradients is unknown",
        training.model);
  }
  const std::string sharded =
      hosts < 2 ? link(needed.sharded_many) + " on many hosts"
                : fmt::format("{} and {}", link(needed.sharded), link(needed.sharded_many));
  return fmt::format(
      "{} has {} of gradients and a backward pass of {}; to hide the exchange of gradients behind "
      "it, a link needs{} {} on many hosts (with sharded parameters, behind a forward and backward "
      "pass of {}: {})",
      training.model, decimal_size(static_cast<double>(training.gradient_bytes)),
      duration(training.backward_s), few_hosts(needed, hosts), link(needed.replicated_many),
      duration(training.compute_s), sharded);
}

}  // namespace

NeededLink needed_link(const Training& training, int hosts) {
  NeededLink needed;
  const double bits = 8 * static_cast<double>(training.gradient_bytes);
  const double part = hosts > 1 ? static_cast<double>(hosts - 1) / hosts : 0;
  if (training.backward_s > 0 && training.compute_s > 0) {
    needed.replicated_many = kAllReducePasses * bits / training.backward_s;
    needed.sharded_many = kShardedPasses * bits / training.compute_s;
    needed.replicated = part * needed.replicated_many;
    needed.sharded = part * needed.sharded_many;
  }
  needed.sentence = sentence_of(needed, training, hosts);
  return needed;
}

std::vector<std::string> needed_links(const Results& results) {
  struct Ends {
    const Training* fewest = nullptr;
    int most = 0;
  };
  std::vector<std::string> order;
  std::map<std::string, Ends> models;
  for (const Training& training : results.trainings) {
    const std::string& key = training.model;
    Ends& ends = models[key];
    if (ends.fewest == nullptr) order.push_back(key);
    if (ends.fewest == nullptr || training.hosts < ends.fewest->hosts) ends.fewest = &training;
    ends.most = std::max(ends.most, training.hosts);
  }
  std::vector<std::string> sentences;
  for (const auto& key : order) {
    sentences.push_back(needed_link(*models[key].fewest, models[key].most).sentence);
  }
  return sentences;
}

}  // namespace muster::bench
