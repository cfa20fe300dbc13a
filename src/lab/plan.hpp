// What `lab up` will do, decided before anything is done. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/hardware.hpp"
#include "lab/operation.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

// What shows a host's hardware: mounted over its /sys and /proc, and on its disk.
struct HardwareFiles {
  Tree mounted;
  Tree on_disk;
};

// A file of the machine that all hosts get.
struct Copied {
  std::string from;
  std::string to;  // absolute, on the hosts
};

// What a plan must know of the machine.
struct Machine {
  std::string passwd;         // /etc/passwd
  std::string shadow;         // /etc/shadow
  std::string group;          // /etc/group
  std::string password_hash;  // of spec.password, as crypt(3) makes it
  std::string muster;         // path of this binary
  // One for each host including the launcher: 32 hexadecimal digits, never equal.
  std::vector<std::string> machine_ids;
  // The hosts' /sys, /proc and tools of the profile; empty: the lab has none. By host, as above.
  std::vector<HardwareFiles> hardware;
  std::vector<Copied> programs = {};  // muster-bench, muster-train and their libraries
};

// The lowest uid from 1000 on that neither passwd nor group has.
[[nodiscard]] uid_t free_uid(std::string_view passwd, std::string_view group);

// The files of a lab, all below its disk: the layer that all hosts share, and each host's own.
[[nodiscard]] std::vector<Operation> plan_files(const Spec& spec, const Machine& machine);

// What a host does inside its own namespaces before its sshd starts: its root, /dev, /proc, ...
[[nodiscard]] std::vector<Operation> plan_root(const Spec& spec, int host);

// Lines for `ip -batch` in the switch: the bridges, and the cables to running hosts (pid of each
// host's first process, in the numbers of the machine).
struct Cable {
  int host = 0;
  pid_t pid = 0;
};
[[nodiscard]] std::string plan_bridges(const Spec& spec);
[[nodiscard]] std::string plan_cables(const Spec& spec, std::span<const Cable> cables);

// The cable of one card of the profile, from the host to the card's own bridge.
[[nodiscard]] std::string plan_rail_cable(const Cable& cable, const RailInterface& rail);

}  // namespace muster::lab
