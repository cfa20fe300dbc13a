#include "remote/grouped.hpp"

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "hosts/fold.hpp"

namespace muster::remote {

std::vector<Group> group_equal(std::span<const Said> said) {
  std::vector<Group> groups;
  std::unordered_map<std::string_view, std::size_t> group_of;
  for (const Said& one : said) {
    if (one.text.empty()) continue;
    const auto [place, is_new] = group_of.try_emplace(one.text, groups.size());
    if (is_new) groups.push_back({.hosts = {}, .text = one.text});
    groups[place->second].hosts.push_back(one.host);
  }
  // A multimap keeps groups of equal size in their order of insertion.
  std::multimap<std::size_t, Group, std::greater<>> by_size;
  for (Group& group : groups) by_size.emplace(group.hosts.size(), std::move(group));
  groups.clear();
  for (auto& [size, group] : by_size) groups.push_back(std::move(group));
  return groups;
}

std::string folded(std::span<const std::string> hosts) {
  if (hosts.size() == 1) return hosts[0];
  return fmt::format("{} ({} hosts)", hosts::fold(hosts), hosts.size());
}

std::string to_text(const Group& group) {
  std::string text = fmt::format("--- {} ---\n{}", folded(group.hosts), group.text);
  if (text.back() != '\n') text += '\n';
  return text;
}

}  // namespace muster::remote
