#include "checks/deviations.hpp"

#include <set>
#include <unordered_map>

#include "checks/host_groups.hpp"

namespace muster::checks {
namespace {

// Hosts whose items are all equal.
struct Variant {
  const Items* items = nullptr;
  std::vector<std::string> hosts = {};
};

// Returns a text that is equal only for equal items. It contains lengths because, without them,
// different items could give the same text.
std::string content_of(const Items& items) {
  std::string text;
  for (const auto& [name, value] : items) {
    text += std::to_string(name.size()) + ':' + name;
    text += value ? std::to_string(value->size()) + '=' + *value : "?";
  }
  return text;
}

std::vector<Variant> variants_of(std::span<const HostItems> hosts) {
  std::vector<Variant> variants;
  std::unordered_map<std::string, std::size_t> index;
  for (const HostItems& host : hosts) {
    const auto [at, is_new] = index.emplace(content_of(host.items), variants.size());
    if (is_new) variants.push_back({.items = &host.items});
    variants[at->second].hosts.push_back(host.host);
  }
  return variants;
}

struct Value {
  bool known = true;
  std::optional<std::string> text = std::nullopt;  // nothing if the host does not have the item
};

Value value_in(const Items& items, const std::string& name) {
  const auto found = items.find(name);
  if (found == items.end()) return {};
  return {.known = found->second.has_value(), .text = found->second};
}

// Returns a different key for each text. The key for a missing text is empty, which no other key
// is.
std::string key_of(const Value& value) {
  return value.text ? "=" + *value.text : "";
}

void compare(const std::string& name, const std::vector<Variant>& variants,
             std::vector<Deviation>& deviations) {
  HostGroups groups;
  for (const Variant& variant : variants) {
    const Value value = value_in(*variant.items, name);
    if (!value.known) continue;
    for (const std::string& host : variant.hosts) groups.add(key_of(value), host);
  }
  if (groups.all().size() < 2) return;
  const HostGroup& usual = groups.usual();
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Value value = value_in(*variants[i].items, name);
    if (!value.known || key_of(value) == usual.key) continue;
    Difference difference{.name = name, .value = value.text, .usual_host = usual.hosts.front()};
    if (!usual.key.empty()) difference.usual = usual.key.substr(1);
    if (deviations[i].differences.empty()) deviations[i].usual_hosts = groups.usual_hosts();
    deviations[i].differences.push_back(std::move(difference));
  }
}

}  // namespace

std::vector<Deviation> deviations(std::span<const HostItems> hosts) {
  const std::vector<Variant> variants = variants_of(hosts);
  if (variants.size() < 2) return {};
  std::set<std::string> names;
  std::vector<Deviation> all;
  for (const Variant& variant : variants) {
    all.push_back({.hosts = variant.hosts, .differences = {}});
    for (const auto& [name, value] : *variant.items) names.insert(name);
  }
  for (const std::string& name : names) compare(name, variants, all);
  std::erase_if(all, [](const Deviation& one) { return one.differences.empty(); });
  return all;
}

}  // namespace muster::checks
