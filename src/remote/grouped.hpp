// Prints equal output of many hosts only once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::remote {

struct Said {
  std::string host;
  std::string_view text;
};

struct Group {
  std::vector<std::string> hosts;
  std::string_view text;  // refers to the caller's text
};

// Groups the hosts that printed the same, largest group first. Groups of equal size are in the
// order of their first hosts. Hosts that printed nothing are in no group. Cost: one hash per text.
[[nodiscard]] std::vector<Group> group_equal(std::span<const Said> said);

// "n[1-3] (3 hosts)"; a single host is only its name.
[[nodiscard]] std::string folded(std::span<const std::string> hosts);

// The header "--- n[1-3] (3 hosts) ---", then the text, ended by a newline.
[[nodiscard]] std::string to_text(const Group& group);

}  // namespace muster::remote
