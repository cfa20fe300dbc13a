// Reaches hosts with the OpenSSH client, started as a process, so that the user's configuration,
// jump hosts, agents and certificates apply. All sessions to a host share one ControlMaster
// connection, which the first session opens and which stays open for a while, so that the host sees
// only one login.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "remote/transport.hpp"

namespace muster::remote {

// How long ssh keeps a connection on which the host does not answer.
constexpr std::chrono::seconds kSshPatience{60};

struct SshOptions {
  std::string user = {};  // empty: as the user's ssh configuration says
  int port = 0;           // 0: as the user's ssh configuration says
  std::chrono::seconds connect_timeout{10};
  std::chrono::seconds patience = kSshPatience;
  std::size_t fan_out = 64;  // sessions at a time; each needs a local process
  // The host that is this machine, if any. Its commands run in a local shell, without ssh.
  std::string this_machine = {};
};

// Returns the folder of the control sockets: ~/.ssh/muster/cm, with mode 0700. It is not below
// /tmp, where after a reboot any user could create the folder and answer in the host's place. The
// exception is a home folder whose path is too long for a socket: then it is /tmp/muster-ssh-UID,
// which muster checks before each use.
[[nodiscard]] std::string control_folder();

// Turns off what the user's ssh configuration must not add to muster's connections: other commands,
// locally or on the host, and access from the host back to this machine. Besides, a forwarded port
// that is already in use would make ssh fail.
constexpr std::array<std::string_view, 6> kOnlyOurCommand = {
    "RemoteCommand=none", "PermitLocalCommand=no", "ClearAllForwardings=yes",
    "ForwardAgent=no",    "ForwardX11=no",         "Tunnel=no"};

// The ssh arguments common to all connections, up to but without the host. Host key checking is
// always on. Pure.
[[nodiscard]] std::vector<std::string> ssh_words(const SshOptions& options);

// Returns a complete ssh command line for interactive use, in which the command reads muster's own
// input. `line` is for the host's login shell; "" just starts that shell. `on_terminal` gives the
// command a terminal. Pure.
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

  // From now on, sessions with these hosts use new connections, with the patience of this object.
  // Open sessions keep the connections that they have. No host is asked.
  void renew(std::span<const std::string> hosts);

  // Closes the open connections to these hosts. A host without a connection is not an error.
  void disconnect(std::span<const std::string> hosts);

  // Returns those of the hosts to which a connection is open, as far as this side knows.
  [[nodiscard]] std::set<std::string> connected(std::span<const std::string> hosts);

 private:
  [[nodiscard]] bool is_here(const std::string& host) const {
    return host == options_.this_machine;
  }

  // Sends a request to the local master process of each host's connection; nothing is sent to the
  // hosts. Returns one answer per host.
  std::vector<Result<sys::Ended>> control(std::span<const std::string> hosts,
                                          const std::string& request);

  SshOptions options_;
};

}  // namespace muster::remote
