// The hosts that an attempt runs on: the members, and the spares that replace bad ones. Pure.
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
  // The slots of a member are its number of ranks. At least `least` members must stay; 0 means all.
  Roster(std::vector<hosts::Host> members, std::vector<hosts::Host> spares, int least);

  [[nodiscard]] const std::vector<hosts::Host>& members() const { return members_; }
  [[nodiscard]] bool has_spares() const { return !spares_.empty(); }

  // Forgets which hosts were found bad, so that they can be used as spares again.
  void look_again();

  // Replaces each bad member with the first spare that was not itself found bad since look_again().
  // The spare takes over the member's number of ranks. Without a spare, the member is left out if
  // enough members remain. Otherwise it stays, and replace() returns false unless the member is
  // only suspected. Replaced and left-out hosts become the last spares.
  bool replace(std::span<const BadHost> bad);

  // The changes since the last call: "n9 instead of n2 (lost)", "without n3 (...)".
  [[nodiscard]] std::vector<std::string> take_changes();

 private:
  // State while bad hosts are being replaced.
  struct Exchange {
    std::size_t members;         // number of members that are left
    std::size_t next_spare = 0;  // all earlier spares are taken or bad
  };
  bool replace_one(hosts::Host& member, const BadHost& bad, Exchange& exchange);

  std::vector<hosts::Host> members_;
  std::vector<hosts::Host> spares_;
  std::size_t least_;
  std::set<std::string> found_bad_;
  std::vector<std::string> changes_;
};

}  // namespace muster::run
