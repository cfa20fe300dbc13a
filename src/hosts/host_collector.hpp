// Hosts as they are read, in the order of their first appearance; a host named again adds its
// slots, as with Open MPI.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "hosts/host.hpp"

namespace muster::hosts {

constexpr int kMaxSlots = 1'000'000;

class HostCollector {
 public:
  HostCollector() : index_(0, ByName{&hosts_}, ByName{&hosts_}) {}
  HostCollector(const HostCollector&) = delete;
  HostCollector& operator=(const HostCollector&) = delete;

  // `slots` 0: not said; it counts as 1 once the host was named more than once. False: more than
  // kMaxSlots on one host.
  [[nodiscard]] bool add(std::string_view name, int slots);

  // How often add was called: what bounds the work, however often a host is repeated.
  [[nodiscard]] std::size_t named() const { return named_; }

  // Leaves the collector unusable.
  [[nodiscard]] std::vector<Host> take() { return std::move(hosts_); }

 private:
  // Hashes and compares positions in hosts_ by the name there, so that no name is kept twice.
  struct ByName {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
    const std::vector<Host>* hosts;

    [[nodiscard]] std::string_view name(std::string_view text) const { return text; }
    [[nodiscard]] std::string_view name(std::size_t at) const { return (*hosts)[at].name; }
    std::size_t operator()(auto key) const { return std::hash<std::string_view>()(name(key)); }
    bool operator()(auto a, auto b) const { return name(a) == name(b); }
  };

  std::vector<Host> hosts_;
  std::size_t named_ = 0;
  std::unordered_set<std::size_t, ByName, ByName> index_;
};

}  // namespace muster::hosts
