// Decides which host may speak for which rank. A host can lie, so what it says about a rank that
// runs elsewhere must not count. Pure.
//
// The Layout places each rank, but the engine may deviate: srun orders hosts in its own way, and a
// site's MPI configuration may distribute ranks round-robin. So another host may start a rank
// first, within two limits: it gets no more ranks than the Layout gives it, and the host that the
// rank was placed on is believed before any other, even if it reports later.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "run/record.hpp"

namespace muster::run {

class RankClaims {
 public:
  // `ranks` are the ranks as the Layout places them. `counts_hold` means that no host gets more
  // ranks than the Layout gives it.
  RankClaims(const std::vector<RankRecord>& ranks, bool counts_hold);

  // Whether the host may have started this rank. Do not use it for engines that move ranks.
  [[nodiscard]] bool may_start(const std::string& host, const RankRecord& rank) const;
  void started(const std::string& host, int rank) { hosts_[host].ranks.insert(rank); }

  // How many ranks the Layout gives the host.
  [[nodiscard]] std::size_t places(const std::string& host) const;
  // Whether it is certain which host the rank's output must come from. It is not while a host has
  // started the rank although the Layout gives it to a second host, which may still start it.
  [[nodiscard]] bool is_settled(const RankRecord& rank) const;
  // Whether the rank's output may come from this host.
  [[nodiscard]] bool may_print(const std::string& host, const RankRecord& rank) const;
  // The same for an engine that moves ranks: a host may send the last output after its rank has
  // moved.
  [[nodiscard]] bool may_have_printed(const std::string& host, int rank) const;
  [[nodiscard]] bool may_end(const std::string& host, const RankRecord& rank) const;

 private:
  struct Host {
    std::set<int> placed = {};
    std::set<int> ranks = {};  // ranks that it has started, even if another host has them now
  };
  [[nodiscard]] bool is_placed(const std::string& host, int rank) const;

  std::map<std::string, Host> hosts_;
  std::map<int, std::string> placed_on_;
  bool counts_hold_;
};

}  // namespace muster::run
