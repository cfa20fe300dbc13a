// Which hosts an attempt runs on: the members, and the spares that take the place of bad ones.
// Pure.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "hosts/host.hpp"
#include "run/restart.hpp"

namespace muster::run {

class Roster {
 public:
  // The slots of a member are its ranks. `least` members must stay; 0: all.
  Roster(std::vector<hosts::Host> members, std::vector<hosts::Host> spares, int least);

  [[nodiscard]] const std::vector<hosts::Host>& members() const { return members_; }
  [[nodiscard]] bool has_spares() const { return !spares_.empty(); }

  // From now on hosts that were found bad before may be asked again.
  void look_again();

  // In the place of each bad member, with its number of ranks, comes the first spare that was not
  // found bad itself since look_again(); where there is none, the member is left out if enough are
  // left. False: one could be neither, and stays. Bad hosts are spares from then on, the last ones.
  bool replace(std::span<const BadHost> bad);

  // Since the last call: "n9 instead of n2 (lost)", "without n3 (...)".
  [[nodiscard]] std::vector<std::string> take_changes();

 private:
  // While bad hosts are being replaced.
  struct Exchange {
    std::size_t members;         // that are left
    std::size_t next_spare = 0;  // those before are taken or bad
  };
  bool replace_one(hosts::Host& member, const BadHost& bad, Exchange& exchange);

  std::vector<hosts::Host> members_;
  std::vector<hosts::Host> spares_;
  std::size_t least_;
  std::set<std::string> found_bad_;
  std::vector<std::string> changes_;
};

}  // namespace muster::run
