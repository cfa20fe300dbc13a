// Starts, finds and enters hosts. A host of the lab is a process in its own namespaces. The switch
// is a node too: a network namespace that contains the bridges.
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

// Records a process in a file as "PID START-TIME". recorded_process returns it only if the start
// time is still the same, so that another process with a reused PID is never mistaken for it.
[[nodiscard]] Result<void> record_process(const std::string& file, pid_t pid);
[[nodiscard]] std::optional<pid_t> recorded_process(const std::string& file);

// The first process of a node, if it is running.
[[nodiscard]] std::optional<pid_t> node_pid(std::string_view lab, std::string_view node);

// Like node_pid, but fails if the host is down. The Error says how to start it.
[[nodiscard]] Result<pid_t> first_process(const Spec& spec, std::string_view node);

// Returns a command line that runs `words` in the network namespace of process `pid`.
[[nodiscard]] std::vector<std::string> in_network_of(pid_t pid, std::vector<std::string> words);

[[nodiscard]] Result<void> start_switch(const Spec& spec);

// Starts hosts, connects them to the switch, and returns when every sshd listens. A host that was
// up before keeps its disk. Cost: one clone and one small batch of links per host; mounts run in
// parallel.
[[nodiscard]] Result<void> start_hosts(const Spec& spec, std::span<const int> hosts);

// Runs `ip -batch -` with these lines on the switch.
[[nodiscard]] Result<void> in_switch(std::string_view lab, const std::string& ip_lines);

// Like in_switch, for lines that may fail, such as the deletion of something that does not exist.
void try_in_switch(std::string_view lab, const std::string& ip_lines);

// Waits until the host's sshd listens on a new socket, one that is not `old_socket`; with 0, any
// socket will do. Returns the socket's inode.
[[nodiscard]] Result<unsigned long> wait_for_sshd(pid_t host, unsigned long old_socket);

enum class As {
  kUser,
  kRoot,
  kNetworkRoot
};  // kNetworkRoot: joins only its network and PID namespaces

// Runs `action` in a child process inside the node's namespaces. Returns its exit code (128 + n for
// signal n). The child dies with this process.
[[nodiscard]] Result<int> inside(const Spec& spec, std::string_view node, As as,
                                 const std::function<int()>& action);

// Like inside, for a process that stays: returns when `prepare` has finished, and leaves `serve`
// running without a terminal until the node ends. Returns the PID of the process outside the node.
[[nodiscard]] Result<pid_t> leave_inside(const Spec& spec, std::string_view node, As as,
                                         const std::function<Result<void>()>& prepare,
                                         const std::function<void()>& serve);

// Executes the command in place of the calling process, with the environment of a login. Returns
// 126 or 127 if that fails.
[[nodiscard]] int exec_command(const Spec& spec, bool root, const std::vector<std::string>& words);

}  // namespace muster::lab
