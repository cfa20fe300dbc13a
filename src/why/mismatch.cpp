#include "why/mismatch.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "why/words.hpp"

namespace muster::why {
namespace {

using inspect::Group;
using inspect::Operation;

// The collectives of one group, as recorded by each of its ranks.
struct Histories {
  std::string group = {};
  std::string backend = {};
  std::map<const RankReading*, std::map<std::int64_t, const Operation*>> by_rank = {};
  double age_s = 0;  // the longest wait
  bool waits = false;
};

std::map<std::string, Histories> read_histories(const std::vector<RankReading>& ranks) {
  std::map<std::string, Histories> all;
  for (const RankReading& rank : ranks) {
    if (rank.view == nullptr) continue;
    for (const Group& group : rank.view->groups) {
      Histories& histories = all[key_of(group)];
      histories.backend = group.backend;
      if (!is_default(group)) histories.group = group.name;
      for (const Operation& operation : group.operations) {
        if (is_point_to_point(operation.name) || operation.number <= 0) continue;
        histories.by_rank[&rank][operation.number] = &operation;
        if (operation.done) continue;
        histories.waits = true;
        histories.age_s = std::max(histories.age_s, operation.age_s);
      }
    }
  }
  return all;
}

// Whether all ranks must pass equally many elements. In other collectives the numbers may differ.
bool wants_equal_sizes(const std::string& name, const std::string& backend) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"all_reduce", "allreduce", "all_reduce_coalesced", "allreduce_coalesced", "reduce",
       "broadcast", "reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor",
       "reduce_scatter_tensor_coalesced", "_all_gather_base", "_allgather_base",
       "all_gather_into_tensor", "all_gather_into_tensor_coalesced",
       "allgather_into_tensor_coalesced"});
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  // PyTorch implements NCCL's all_gather with different sizes as broadcasts.
  const bool gathers_equal = backend == "gloo" || backend == "mpi";
  return gathers_equal && (name == "all_gather" || name == "allgather");
}

// Returns the total number of elements and the types, which are equal if operations match.
std::string shape_of(const Operation& operation) {
  std::uint64_t total = 0;
  for (const std::uint64_t elements : elements_of(operation.sizes)) total += elements;
  return fmt::format("{} {}", total, operation.types);
}

using At = std::vector<std::pair<const RankReading*, const Operation*>>;

bool are_shapes_comparable(const At& at, const std::string& backend) {
  return std::all_of(at.begin(), at.end(), [&](const auto& one) {
    return !elements_of(one.second->sizes).empty() && wants_equal_sizes(one.second->name, backend);
  });
}

// All recorded operations, by number.
std::map<std::int64_t, At> by_number(const Histories& histories) {
  std::map<std::int64_t, At> numbers;
  for (const auto& [rank, operations] : histories.by_rank) {
    for (const auto& [number, operation] : operations)
      numbers[number].emplace_back(rank, operation);
  }
  return numbers;
}

template <class Text>
std::vector<std::pair<std::string, Ranks>> sides_of(const At& at, Text text_of) {
  std::map<std::string, Ranks> sides;
  for (const auto& [rank, operation] : at) sides[text_of(*operation)].push_back(rank);
  std::vector<std::pair<std::string, Ranks>> ordered(sides.begin(), sides.end());
  for (auto& [text, ranks] : ordered) {
    std::sort(ranks.begin(), ranks.end(),
              [](const RankReading* a, const RankReading* b) { return a->rank < b->rank; });
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return ordered;
}

// Whether, from `number` on, `late` does at each number what `early` did one number later.
bool is_one_behind(const Histories& histories, const RankReading* early, const RankReading* late,
                   std::int64_t number) {
  const auto& from = histories.by_rank.at(early);
  int compared = 0;
  for (const auto& [at, operation] : histories.by_rank.at(late)) {
    if (at < number || at == std::numeric_limits<std::int64_t>::max()) continue;
    const auto other = from.find(at + 1);
    if (other == from.end()) continue;
    if (operation->name != other->second->name) return false;
    if (shape_of(*operation) != shape_of(*other->second)) return false;
    ++compared;
  }
  return compared > 0;
}

std::string shift_of(const Histories& histories, const Mismatch& mismatch) {
  if (mismatch.sides.size() != 2) return {};
  const Ranks& most = mismatch.sides[0].second;
  const Ranks& few = mismatch.sides[1].second;
  const auto left_out = [&](const Ranks& who, const Ranks& others, const std::string& what) {
    if (!is_one_behind(histories, others.front(), who.front(), mismatch.number)) {
      return std::string();
    }
    return fmt::format("it looks as if {} left out {} #{}", rank_names(who), what, mismatch.number);
  };
  std::string text =
      left_out(few, most, histories.by_rank.at(most.front()).at(mismatch.number)->name);
  if (!text.empty()) return text;
  if (!is_one_behind(histories, few.front(), most.front(), mismatch.number)) return {};
  return fmt::format("it looks as if {} called one {} more than the others, #{}", rank_names(few),
                     histories.by_rank.at(few.front()).at(mismatch.number)->name, mismatch.number);
}

std::optional<Mismatch> mismatch_in(const Histories& histories) {
  if (!histories.waits || histories.by_rank.size() < 2) return std::nullopt;
  for (const auto& [number, at] : by_number(histories)) {
    Mismatch mismatch{
        .names = true, .group = histories.group, .number = number, .age_s = histories.age_s};
    mismatch.sides = sides_of(at, [](const Operation& o) { return o.name; });
    // If all of them have completed it, the operations matched, whatever their shapes.
    const bool pending =
        std::any_of(at.begin(), at.end(), [](const auto& one) { return !one.second->done; });
    if (mismatch.sides.size() < 2 && pending && are_shapes_comparable(at, histories.backend)) {
      mismatch.names = false;
      if (sides_of(at, shape_of).size() > 1) {
        mismatch.sides = sides_of(at, [](const Operation& o) {
          return o.sizes + (o.types.empty() ? "" : " " + o.types);
        });
      }
    }
    if (mismatch.sides.size() < 2) continue;
    mismatch.operation = at.front().second->name;
    mismatch.shift = shift_of(histories, mismatch);
    return mismatch;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::uint64_t> elements_of(const std::string& sizes) {
  std::vector<std::uint64_t> all;
  int depth = 0;
  std::uint64_t product = 1;
  std::uint64_t number = 0;
  bool digits = false;
  for (const char c : sizes) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      // May wrap around, which is harmless in a comparison.
      number = number * 10 + static_cast<std::uint64_t>(c - '0');
      digits = true;
      continue;
    }
    if (digits) product *= number;
    digits = false;
    number = 0;
    if (c == '[') {
      ++depth;
      product = 1;
    } else if (c == ']') {
      if (depth == 2) all.push_back(product);
      --depth;
    }
  }
  return all;
}

std::optional<Mismatch> find_mismatch(const std::vector<RankReading>& ranks) {
  for (const auto& [key, histories] : read_histories(ranks)) {
    if (auto mismatch = mismatch_in(histories)) return mismatch;
  }
  return std::nullopt;
}

}  // namespace muster::why
