// A host of the lab is a first process in namespaces of its own. Here they are started, found again
// and entered. The switch is a node too: a network namespace with the bridges.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "lab/plan.hpp"
#include "lab/spec.hpp"

namespace muster::lab {

constexpr std::string_view kSwitch = "switch";

// A process recorded in a file "PID START-TIME": found again only if the start time agrees, so that
// a pid used again is never taken for ours.
[[nodiscard]] Result<void> record_process(const std::string& file, pid_t pid);
[[nodiscard]] std::optional<pid_t> recorded_process(const std::string& file);

// The first process of a node, if it runs.
[[nodiscard]] std::optional<pid_t> node_pid(std::string_view lab, std::string_view node);

// The same, or the Error that the host is down and how to get it back.
[[nodiscard]] Result<pid_t> first_process(const Spec& spec, std::string_view node);

// The argument list that runs `words` in the network of process `pid`.
[[nodiscard]] std::vector<std::string> in_network_of(pid_t pid, std::vector<std::string> words);

[[nodiscard]] Result<void> start_switch(const Spec& spec);

// Starts hosts, wires them to the switch, and returns when every sshd listens. A host that was up
// before keeps its disk. Cost: one clone and one small batch of links a host; mounts run in
// parallel.
[[nodiscard]] Result<void> start_hosts(const Spec& spec, std::span<const int> hosts);

// Runs `ip -batch -` with these lines in the switch.
[[nodiscard]] Result<void> in_switch(std::string_view lab, const std::string& ip_lines);

// The same for lines of which some may fail, such as the deletion of what is not there.
void try_in_switch(std::string_view lab, const std::string& ip_lines);

// Waits until the host's sshd listens on another socket than `old` (0: on any); returns its inode.
[[nodiscard]] Result<unsigned long> wait_for_sshd(pid_t host, unsigned long old_socket);

enum class As {
  kUser,
  kRoot,
  kNetworkRoot
};  // kNetworkRoot: only its network and process namespaces

// Runs `action` in a child process in the node's namespaces; returns its exit code (128 + n for a
// signal). The child dies with us.
[[nodiscard]] Result<int> inside(const Spec& spec, std::string_view node, As as,
                                 const std::function<int()>& action);

// The same for something that stays: returns after `prepare` has ended in there, and leaves `serve`
// running with no terminal until the node ends. Returns its pid in the numbers of the machine.
[[nodiscard]] Result<pid_t> leave_inside(const Spec& spec, std::string_view node, As as,
                                         const std::function<Result<void>()>& prepare,
                                         const std::function<void()>& serve);

// Replaces the calling process by the command, with a login's environment. Returns 126 or 127.
[[nodiscard]] int exec_command(const Spec& spec, bool root, const std::vector<std::string>& words);

}  // namespace muster::lab
