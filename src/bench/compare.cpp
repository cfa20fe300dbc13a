#include "bench/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "base/size_text.hpp"
#include "bench/numbers.hpp"

namespace muster::bench {
namespace {

// Returns, for each item of `ours`, the index in `theirs` of the item to compare it with, or -1.
// `alike` must return equal keys for the two. Of several such items, one with an equal `nearly`
// value is taken first, so that a run with RDMA is compared with a run with RDMA.
template <class T, class Alike, class Nearly>
std::vector<int> partners(const std::vector<T>& ours, const std::vector<T>& theirs, Alike alike,
                          Nearly nearly) {
  std::vector<int> found(ours.size(), -1);
  std::map<decltype(alike(ours[0])), std::vector<int>> places;
  for (std::size_t j = 0; j < theirs.size(); ++j) {
    places[alike(theirs[j])].push_back(static_cast<int>(j));
  }
  for (const bool exact : {true, false}) {
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (found[i] >= 0) continue;
      std::vector<int>& free = places[alike(ours[i])];
      const auto fits = std::find_if(free.begin(), free.end(), [&](int j) {
        return !exact || nearly(ours[i]) == nearly(theirs[j]);
      });
      if (fits == free.end()) continue;
      found[i] = *fits;
      free.erase(fits);
    }
  }
  return found;
}

std::vector<int> partners_of(const std::vector<Measurement>& a, const std::vector<Measurement>& b) {
  return partners(
      a, b,
      [](const Measurement& m) { return std::tuple(m.operation, m.backend, m.bytes, m.ranks); },
      [](const Measurement& m) { return m.rdma; });
}

std::vector<int> partners_of(const std::vector<Training>& a, const std::vector<Training>& b) {
  return partners(
      a, b, [](const Training& t) { return std::tuple(t.model, t.backend, t.hosts, t.ranks); },
      [](const Training& t) { return t.samples; });
}

// Finds the same two hosts in either order.
std::vector<int> partners_of(const std::vector<Pair>& a, const std::vector<Pair>& b) {
  return partners(
      a, b,
      [](const Pair& p) {
        return std::tuple(std::min(p.one, p.other), std::max(p.one, p.other), p.again);
      },
      [](const Pair& p) { return p.one; });
}

Change judged(Change change, double noise) {
  change.noise = std::max(noise, kLeastChange * std::min(change.a, change.b));
  change.ratio = change.b > 0 ? change.a / change.b : 1;
  change.differs = change.a > 0 && change.b > 0 && std::abs(change.a - change.b) > change.noise;
  return change;
}

Change change_of(const Measurement& a, const Measurement& b) {
  const auto spread = [](const Times& t) { return t.p75 - t.p25; };
  return judged({.operation = a.operation,
                 .backend = a.backend,
                 .ranks = a.ranks,
                 .bytes = a.bytes,
                 .a = a.times.median,
                 .b = b.times.median},
                std::max(spread(a.times), spread(b.times)));
}

double seconds_a_gigabyte(const Pair& pair) {
  const double slower = std::min(pair.forward, pair.backward);
  return slower > 0 ? 1e9 / slower : 0;
}

Change change_of(const Pair& a, const Pair& b) {
  Change change{.kind = Change::Kind::kPair,
                .operation = fmt::format("{} - {}", a.one, a.other),
                .ranks = 2,
                .a = seconds_a_gigabyte(a),
                .b = seconds_a_gigabyte(b)};
  const double noise = kPairNoise * std::min(change.a, change.b);
  return judged(std::move(change), noise);
}

Change change_of(const Training& a, const Training& b) {
  // Compare the time per sample, because a step with another batch size takes a different time.
  const double factor = a.samples > 0 && b.samples > 0
                            ? static_cast<double>(a.samples) / static_cast<double>(b.samples)
                            : 1;
  Change change{.kind = Change::Kind::kTraining,
                .operation = a.model,
                .backend = a.backend,
                .ranks = a.ranks,
                .hosts = a.hosts,
                .a = a.step_s,
                .b = b.step_s * factor};
  const double noise = kTrainingNoise * std::min(change.a, change.b);
  return judged(std::move(change), noise);
}

template <class T>
void add_changes(std::vector<Change>& changes, const std::vector<T>& a, const std::vector<T>& b) {
  const std::vector<int> found = partners_of(a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (found[i] >= 0) changes.push_back(change_of(a[i], b[found[i]]));
  }
}

std::string name_of(const Measurement& m) {
  return fmt::format("{} over {} by {} ranks", m.operation, m.backend, m.ranks);
}
std::string name_of(const Pair&) {
  return "pairs of hosts";
}
std::string name_of(const Training& t) {
  return fmt::format("training of {} over {}", t.model, t.backend);
}

struct Left {
  std::string name;
  std::vector<std::string> items = {};
};

std::string item_of(const Measurement& m) {
  return m.bytes > 0 ? size_text(m.bytes) : "";
}
std::string item_of(const Pair& pair) {
  return fmt::format("{} - {}{}", pair.one, pair.other, pair.again ? " (again)" : "");
}
std::string item_of(const Training& t) {
  return fmt::format("{} hosts ({} ranks)", t.hosts, t.ranks);
}

template <class T>
void add_left(std::vector<Left>& all, const std::vector<T>& only, const std::vector<T>& other) {
  const std::vector<int> found = partners_of(only, other);
  for (std::size_t i = 0; i < only.size(); ++i) {
    if (found[i] >= 0) continue;
    const std::string name = name_of(only[i]);
    auto left =
        std::find_if(all.begin(), all.end(), [&name](const Left& l) { return l.name == name; });
    if (left == all.end()) left = all.insert(all.end(), Left{.name = name});
    if (const std::string item = item_of(only[i]); !item.empty()) left->items.push_back(item);
  }
}

}  // namespace

std::vector<Change> compare(const Results& a, const Results& b) {
  std::vector<Change> changes;
  add_changes(changes, a.measurements, b.measurements);
  add_changes(changes, a.pairs, b.pairs);
  add_changes(changes, a.trainings, b.trainings);
  return changes;
}

std::vector<std::string> only_in(const Results& only, const Results& other) {
  std::vector<Left> all;
  add_left(all, only.measurements, other.measurements);
  add_left(all, only.pairs, other.pairs);
  add_left(all, only.trainings, other.trainings);
  std::vector<std::string> texts;
  for (const Left& left : all) {
    constexpr std::size_t kNamed = 4;  // of longer lists, only both ends are shown
    std::string text = left.name;
    for (std::size_t i = 0; i < left.items.size() && left.items.size() <= kNamed; ++i) {
      text += (i == 0 ? ": " : ", ") + left.items[i];
    }
    if (left.items.size() > kNamed) {
      text += fmt::format(": {} of them, {} to {}", left.items.size(), left.items.front(),
                          left.items.back());
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace muster::bench
