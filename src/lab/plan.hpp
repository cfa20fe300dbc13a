// Decides what `lab up` will do before anything is done. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/hardware.hpp"
#include "lab/operation.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

// The files that show a host's hardware: those to mount over /sys and /proc, and those on its disk.
struct HardwareFiles {
  Tree mounted;
  Tree on_disk;
};

// A file of this machine that all hosts get.
struct Copied {
  std::string from;
  std::string to;  // absolute path on the hosts
};

// What a plan must know about this machine.
struct Machine {
  std::string passwd;         // text of /etc/passwd
  std::string shadow;         // text of /etc/shadow
  std::string group;          // text of /etc/group
  std::string password_hash;  // of spec.password, made by crypt(3)
  std::string muster;         // path of this binary
  // One id of 32 hexadecimal digits per host, including the launcher. No two are equal.
  std::vector<std::string> machine_ids;
  // The files of the profile for each host, in the same order. Empty if the lab has no profile.
  std::vector<HardwareFiles> hardware;
  std::vector<Copied> programs = {};  // muster-bench, muster-train and their libraries
};

// The lowest uid from 1000 on that is free in passwd and in group.
[[nodiscard]] uid_t free_uid(std::string_view passwd, std::string_view group);

// Returns the steps that make a lab's files on its disk: the layer that all hosts share, and each
// host's own.
[[nodiscard]] std::vector<Operation> plan_files(const Spec& spec, const Machine& machine);

// Returns the steps that a host takes in its own namespaces before its sshd starts: it makes its
// root, /dev, /proc and so on.
[[nodiscard]] std::vector<Operation> plan_root(const Spec& spec, int host);

// The file with a host's boot id, and its content, made of 32 hexadecimal digits. It has the form
// of a UUID. Programs use it to distinguish hosts, and the boots of a host.
[[nodiscard]] std::string boot_id_path(const Spec& spec, int host);
[[nodiscard]] std::string boot_id(const std::string& digits);

// A host to be connected. `pid` is its first process, as numbered outside the host. The functions
// below return lines for `ip -batch` on the switch that make the bridges and the cables to hosts.
struct Cable {
  int host = 0;
  pid_t pid = 0;
};
[[nodiscard]] std::string plan_bridges(const Spec& spec);
[[nodiscard]] std::string plan_cables(const Spec& spec, std::span<const Cable> cables);

// The cable of one card of the profile, from the host to the card's own bridge.
[[nodiscard]] std::string plan_rail_cable(const Cable& cable, const RailInterface& rail);

}  // namespace muster::lab
