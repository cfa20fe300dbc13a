#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "checks/finding.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"

namespace muster::checks {
namespace {

// Merges equal findings of several hosts, in the order of their first occurrences.
Findings merge(Findings all) {
  Findings merged;
  std::map<std::tuple<std::string, Severity, std::string, std::string, std::string, bool>,
           std::size_t>
      index;
  for (Finding& finding : all) {
    const auto [at, is_new] =
        index.emplace(std::tuple(finding.id, finding.severity, finding.what, finding.evidence,
                                 finding.fix, finding.hosts.empty()),
                      merged.size());
    if (is_new) {
      merged.push_back(std::move(finding));
      continue;
    }
    auto& hosts = merged[at->second].hosts;
    hosts.insert(hosts.end(), finding.hosts.begin(), finding.hosts.end());
  }
  return merged;
}

using Order = std::unordered_map<std::string_view, std::size_t>;

void sort_hosts(std::vector<std::string>& hosts, const Order& order) {
  const auto place = [&](const std::string& host) {
    const auto found = order.find(host);
    return found == order.end() ? order.size() : found->second;
  };
  std::stable_sort(hosts.begin(), hosts.end(), [&](const std::string& one, const std::string& two) {
    return place(one) < place(two);
  });
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
}

void name_hosts(Finding& finding) {
  if (finding.hosts.empty()) return;
  const std::string flag = hosts_flag(finding.hosts);
  for (std::size_t at = finding.fix.find(kTheHosts); at != std::string::npos;
       at = finding.fix.find(kTheHosts, at + flag.size())) {
    finding.fix.replace(at, kTheHosts.size(), flag);
  }
}

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

Findings judge(const Scene& scene) {
  Findings all;
  for (const Rule& rule : kRules) {
    Findings found = rule.judge(scene);
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  Findings merged = merge(std::move(all));
  Order order;
  for (const hosts::Host& host : scene.cluster.hosts) order.emplace(host.name, order.size());
  for (Finding& finding : merged) {
    sort_hosts(finding.hosts, order);
    name_hosts(finding);
  }
  std::stable_sort(merged.begin(), merged.end(), [](const Finding& one, const Finding& two) {
    return one.severity > two.severity;
  });
  return merged;
}

bool has_errors(std::span<const Finding> findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Severity::kError; });
}

}  // namespace muster::checks
