#include "run/roster.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace muster::run {

Roster::Roster(std::vector<hosts::Host> members, std::vector<hosts::Host> spares, int least)
    : members_(std::move(members)),
      spares_(std::move(spares)),
      least_(least > 0 ? static_cast<std::size_t>(least) : members_.size()) {
  std::erase_if(spares_, [this](const hosts::Host& spare) {
    return std::any_of(members_.begin(), members_.end(),
                       [&](const hosts::Host& member) { return member.name == spare.name; });
  });
}

void Roster::look_again() {
  found_bad_.clear();
}

bool Roster::replace(std::span<const BadHost> bad) {
  for (const BadHost& one : bad) {
    if (!one.only_for_spare) found_bad_.insert(one.host);  // else it may come back for a dead spare
  }
  bool all = true;
  for (const BadHost& one : bad) all = replace_one(one) && all;
  return all;
}

bool Roster::replace_one(const BadHost& bad) {
  const auto member = std::find_if(members_.begin(), members_.end(),
                                   [&](const hosts::Host& one) { return one.name == bad.host; });
  if (member == members_.end()) return true;
  const auto spare = std::find_if(spares_.begin(), spares_.end(), [this](const hosts::Host& one) {
    return !found_bad_.contains(one.name);
  });
  if (spare != spares_.end()) {
    changes_.push_back(fmt::format("{} instead of {} ({})", spare->name, bad.host, bad.why));
    member->name = spare->name;
    spares_.erase(spare);
  } else if (members_.size() > least_ && !bad.only_for_spare) {
    changes_.push_back(fmt::format("without {} ({})", bad.host, bad.why));
    members_.erase(member);
  } else {
    return bad.only_for_spare;
  }
  spares_.push_back({.name = bad.host});
  return true;
}

std::vector<std::string> Roster::take_changes() {
  return std::exchange(changes_, {});
}

}  // namespace muster::run
