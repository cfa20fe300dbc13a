// Conditions that lists of hosts must meet, whatever the input.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/printable.hpp"
#include "hosts/expression.hpp"
#include "hosts/fold.hpp"
#include "hosts/name.hpp"
#include "require.hpp"

namespace muster::fuzz {

// Limit for the hosts of one input: enough to reach every branch, few enough to stay fast.
constexpr std::size_t kLimit = 256;

// An error must say what is wrong and where, in printable text, whatever the input.
inline void require_good_error(const Error& error) {
  require(error.code == ErrorCode::kUsage, "a refusal is the user's to mend");
  require(!error.what.empty() && !error.where.file.empty(), "a refusal says what and where");
  require(is_printable(error.what + error.hint), "hostile bytes do not reach a terminal");
  require(error.where.line >= 0 && error.where.column >= 0, "a place is not negative");
}

inline std::vector<hosts::Host> sorted(std::vector<hosts::Host> list) {
  std::sort(list.begin(), list.end(),
            [](const hosts::Host& a, const hosts::Host& b) { return a.name < b.name; });
  return list;
}

inline void require_good_hosts(const std::vector<hosts::Host>& list) {
  require(!list.empty() && list.size() <= kLimit, "at least one host, at most the limit");
  for (const hosts::Host& host : list) {
    require(hosts::is_name(host.name) || hosts::is_ipv6(host.name), "only good names");
    require(host.slots >= 0 && host.slots <= hosts::kMaxSlots, "slots in their bounds");
  }
  const auto order = sorted(list);
  const auto twice = std::adjacent_find(
      order.begin(), order.end(), [](const auto& a, const auto& b) { return a.name == b.name; });
  require(twice == order.end(), "no name twice");
  const std::string folded = hosts::fold(list);
  const auto again = hosts::parse_expression({.text = folded, .limit = kLimit});
  require(again.has_value(), "what was folded can be read");
  require(sorted(*again) == order, "what was folded is read back as the same hosts");
  require(hosts::fold(*again) == folded, "folding again changes nothing");
}

}  // namespace muster::fuzz
