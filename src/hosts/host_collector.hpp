// Collects hosts in the order of first appearance. A host that is named again gets additional
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

  // Pass 0 as `slots` if the user gave no number. A host that is named twice then gets 1 for it.
  // Returns false if a host would get more than kMaxSlots.
  [[nodiscard]] bool add(std::string_view name, int slots);

  // Returns how often add() was called. Callers limit this number, because repeated hosts cost time
  // too.
  [[nodiscard]] std::size_t named() const { return named_; }

  // Afterwards the collector cannot be used any more.
  [[nodiscard]] std::vector<Host> take() { return std::move(hosts_); }

 private:
  // Hashes and compares indices of hosts_ by the names stored there, so that names need not be
  // stored twice.
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
