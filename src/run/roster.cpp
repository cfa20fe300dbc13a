#include "run/roster.hpp"

#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace muster::run {

Roster::Roster(std::vector<hosts::Host> members, std::vector<hosts::Host> spares, int least)
    : members_(std::move(members)),
      spares_(std::move(spares)),
      least_(least > 0 ? static_cast<std::size_t>(least) : members_.size()) {
  std::set<std::string_view> names;
  for (const hosts::Host& member : members_) names.insert(member.name);
  std::erase_if(spares_, [&](const hosts::Host& spare) { return names.contains(spare.name); });
}

void Roster::look_again() {
  found_bad_.clear();
}

bool Roster::replace(std::span<const BadHost> bad) {
  for (const BadHost& one : bad) {
    // Without this, a bad host, which becomes a spare itself, could replace the next bad one.
    if (!one.only_for_spare) found_bad_.insert(one.host);
  }
  std::map<std::string, hosts::Host*> by_name;
  for (hosts::Host& member : members_) by_name.emplace(member.name, &member);
  Exchange exchange{.members = members_.size()};
  bool all = true;
  for (const BadHost& one : bad) {
    const auto member = by_name.find(one.host);
    if (member == by_name.end()) continue;
    if (!replace_one(*member->second, one, exchange)) {
      all = all && one.only_for_spare;
      continue;
    }
    by_name.emplace(member->second->name, member->second);
    by_name.erase(member);
  }
  const auto has_no_name = [](const hosts::Host& host) { return host.name.empty(); };
  std::erase_if(members_, has_no_name);
  std::erase_if(spares_, has_no_name);
  return all;
}

// Clears the name of a member that is left out and of a spare that is used; replace() then removes
// them. Returns false if there is neither a spare nor a surplus member.
bool Roster::replace_one(hosts::Host& member, const BadHost& bad, Exchange& exchange) {
  while (exchange.next_spare < spares_.size() &&
         found_bad_.contains(spares_[exchange.next_spare].name)) {
    ++exchange.next_spare;
  }
  if (exchange.next_spare < spares_.size()) {
    member.name = std::exchange(spares_[exchange.next_spare++].name, {});
    changes_.push_back(fmt::format("{} instead of {} ({})", member.name, bad.host, bad.why));
  } else if (exchange.members > least_ && !bad.only_for_spare) {
    --exchange.members;
    member.name.clear();
    changes_.push_back(fmt::format("without {} ({})", bad.host, bad.why));
  } else {
    return false;
  }
  spares_.push_back({.name = bad.host});
  return true;
}

std::vector<std::string> Roster::take_changes() {
  return std::exchange(changes_, {});
}

}  // namespace muster::run
