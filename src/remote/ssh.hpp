// Hosts reached by the OpenSSH client, started as a process: it brings the user's configuration,
// jump hosts, agents and certificates. All sessions to a host ride on one ControlMaster connection,
// which the first session opens and which stays for a while, so that a host sees one login.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "remote/transport.hpp"

namespace muster::remote {

struct SshOptions {
  std::string user = {};  // empty: what the user's ssh configuration says
  int port = 0;           // 0: likewise
  std::chrono::seconds connect_timeout{10};
  std::size_t fan_out = 64;  // sessions at once; each costs a process here
  // The host that is this machine, if one is: its commands run here, in a shell, without ssh.
  std::string this_machine = {};
};

// Where the control sockets lie: ~/.ssh/muster/cm, made with mode 0700. Not below /tmp: after a
// reboot anybody could make that folder and answer in the host's place. Only where the home
// folder's path is too long for a socket, /tmp/muster-ssh-UID, verified to be ours before each use.
[[nodiscard]] std::string control_folder();

// What the user's ssh configuration must not add to a connection of muster's: another command, here
// or there, and a way from the host back to this machine. A busy forwarded port would stop ssh,
// too.
constexpr std::array<std::string_view, 6> kOnlyOurCommand = {
    "RemoteCommand=none", "PermitLocalCommand=no", "ClearAllForwardings=yes",
    "ForwardAgent=no",    "ForwardX11=no",         "Tunnel=no"};

// The ssh words that every connection of muster's carries, up to but without the host. Host key
// checking is always on. Pure.
[[nodiscard]] std::vector<std::string> ssh_words(const SshOptions& options);

// The same with the host and a line for its login shell, for a person who types: our input goes to
// the command. An empty line is a login shell. `on_terminal`: the command gets a terminal. Pure.
[[nodiscard]] std::vector<std::string> interactive_words(const SshOptions& options,
                                                         const std::string& host,
                                                         const std::string& line, bool on_terminal);

class Ssh : public Transport {
 public:
  explicit Ssh(SshOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::vector<Outcome> run(std::span<const Task> tasks,
                                         std::chrono::milliseconds deadline) override;

  [[nodiscard]] std::shared_ptr<Session> open(sys::Loop& loop, SessionPlan plan) override;
  void forget(const std::string& host) override {
    if (!is_here(host)) disconnect({&host, 1});
  }
  [[nodiscard]] std::vector<std::string> shell() const override { return ssh_words(options_); }
  [[nodiscard]] Silence silence(const std::string& host) const override {
    if (is_here(host)) return {};
    return {"ssh-connect-refused-or-timeout", "ssh " + host + " true"};
  }

  // Closes the open connections to these hosts; a host without one is no error.
  void disconnect(std::span<const std::string> hosts);

  // Those of these hosts to which a connection is open, as far as this side knows.
  [[nodiscard]] std::set<std::string> connected(std::span<const std::string> hosts);

 private:
  [[nodiscard]] bool is_here(const std::string& host) const {
    return host == options_.this_machine;
  }

  // One answer a host of its connection's master process here; sends nothing to the host.
  std::vector<Result<sys::Ended>> control(std::span<const std::string> hosts,
                                          const std::string& request);

  SshOptions options_;
};

}  // namespace muster::remote
