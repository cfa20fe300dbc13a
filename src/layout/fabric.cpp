#include "layout/fabric.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hosts/fold.hpp"

namespace muster::layout {
namespace {

constexpr std::array kFabrics = {Fabric::kEfa, Fabric::kInfiniband, Fabric::kRoceIpv4,
                                 Fabric::kRoceIpv6};

double gbit_of_all(const HostRails& host) {
  double sum = 0;
  for (const Rail& rail : host.rails) sum += std::max(gbit_of(rail.rate), 1.0);
  return sum;
}

// The bandwidth of the slowest host's rails; 0 if some host has no rail.
double gbit_of_slowest(std::span<const HostRails> hosts) {
  double slowest = gbit_of_all(hosts.front());
  for (const HostRails& host : hosts) slowest = std::min(slowest, gbit_of_all(host));
  return slowest;
}

bool has_gateway(const facts::Facts& host, const std::string& interface) {
  return std::any_of(host.routes.begin(), host.routes.end(), [&](const facts::Route& route) {
    return route.interface == interface && !route.gateway.empty();
  });
}

bool reach_only_their_subnets(const facts::Facts& host, const HostRails& rails) {
  return std::any_of(rails.rails.begin(), rails.rails.end(),
                     [&](const Rail& rail) { return !has_gateway(host, rail.interface); });
}

bool are_in_same_subnets(const HostRails& one, const HostRails& two) {
  return std::equal(one.rails.begin(), one.rails.end(), two.rails.begin(), two.rails.end(),
                    [](const Rail& a, const Rail& b) { return a.network == b.network; });
}

// Turns "400 Gb/sec (4X NDR)" into "400 Gb/sec".
std::string short_rate(const std::string& rate) {
  return rate.substr(0, rate.find(" ("));
}

// Returns "8 rails of 400 Gb/sec (mlx5_[0-7])".
std::string rails_text(const HostRails& host) {
  std::set<std::string> rates;
  std::set<int> indices;
  std::vector<std::string> names;
  for (const Rail& rail : host.rails) {
    rates.insert(short_rate(rail.rate));
    indices.insert(rail.gid_index);
    names.push_back(port_name(rail.device, rail.port));
  }
  rates.erase("");
  return fmt::format("{} rail{}{}{} ({}{})", names.size(), names.size() == 1 ? "" : "s",
                     rates.empty() ? "" : " of ", fmt::join(rates, " and "), hosts::fold(names),
                     indices.size() == 1 && *indices.begin() >= 0
                         ? fmt::format(", GID index {}", *indices.begin())
                         : "");
}

// Returns ", without mlx5_1 and mlx5_2 (200 Gb/sec)"; empty if no port was left out.
std::string left_out_text(const HostRails& host) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const LeftOut& one : host.left_out) {
    const std::string why = short_rate(one.why);
    auto at = std::find_if(reasons.begin(), reasons.end(),
                           [&](const auto& known) { return known.first == why; });
    if (at == reasons.end()) at = reasons.insert(reasons.end(), {why, {}});
    at->second.push_back(port_name(one.port->device, one.port->port));
  }
  std::string text;
  for (const auto& [why, names] : reasons) {
    text += fmt::format("{} {} ({})", text.empty() ? ", without" : ",", hosts::fold(names), why);
  }
  return text;
}

}  // namespace

FabricChoice choose_fabric(std::span<const facts::Facts* const> hosts,
                           std::span<const std::string> interfaces) {
  FabricChoice choice;
  double best = 0;
  double next = 0;
  for (const Fabric fabric : kFabrics) {
    std::vector<HostRails> rails;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      rails.push_back(find_rails(*hosts[i], fabric, interfaces[i]));
      if (rails.back().rails.empty()) break;
    }
    if (hosts.empty() || rails.back().rails.empty()) continue;
    const double gbit = gbit_of_slowest(rails);
    if (gbit > best) {
      next = std::exchange(best, gbit);
      choice = {.fabric = fabric, .hosts = std::move(rails), .slower = choice.fabric};
    } else if (gbit > next) {
      next = gbit;
      choice.slower = fabric;
    }
  }
  return choice;
}

bool are_separate(std::span<const facts::Facts* const> hosts, std::span<const HostRails> rails) {
  if (rails.empty()) return false;
  std::set<std::string> subnets;
  for (const Rail& rail : rails.front().rails) subnets.insert(rail.network);
  if (subnets.size() < 2 || subnets.contains("")) return false;
  bool is_separate = false;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!are_in_same_subnets(rails.front(), rails[i])) return false;
    is_separate = is_separate || reach_only_their_subnets(*hosts[i], rails[i]);
  }
  return is_separate;
}

std::string to_text(const FabricChoice& choice, std::span<const std::string> names) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string rails = rails_text(choice.hosts[i]);
    const std::string rest = left_out_text(choice.hosts[i]);
    const std::string key = rails + "\n" + rest;
    auto at = std::find_if(kinds.begin(), kinds.end(),
                           [&](const auto& known) { return known.first == key; });
    if (at == kinds.end()) at = kinds.insert(kinds.end(), {key, {}});
    at->second.push_back(names[i]);
  }
  std::string text = fmt::format("RDMA over {}", name_of(choice.fabric));
  if (choice.slower != Fabric::kNone)
    text += fmt::format(", faster than {}", name_of(choice.slower));
  text += ":";
  for (const auto& [key, hosts_of_kind] : kinds) {
    const std::size_t cut = key.find('\n');
    text += fmt::format("{} {} on {}{}", text.back() == ':' ? "" : ";", key.substr(0, cut),
                        hosts::fold(hosts_of_kind), key.substr(cut + 1));
  }
  return text;
}

}  // namespace muster::layout
