// Runs host.sh on hosts: with the installed key over the shared connection, or in a first login,
// during which ssh asks questions.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "setup/client_config.hpp"
#include "setup/doorkeeper.hpp"
#include "setup/host_script.hpp"
#include "setup/launcher.hpp"
#include "sys/process.hpp"

namespace muster::setup {

constexpr std::size_t kAtOnce = 64;  // connections at a time

// A host, and the script to run on it.
struct Errand {
  Entry entry;
  std::shared_ptr<const std::string> script;
};

// The result: the script's report, or why there is none.
struct Visit {
  std::string host;
  ScriptReport report = {};
  std::optional<Error> error = {};
  bool denied = false;  // the right host was reached, but it accepted no key of ours
  bool lost = false;    // the connection ended before the script began, without a reason from ssh

  // Whether the script began, so that files on the host may have changed.
  [[nodiscard]] bool entered() const {
    return report.ended || report.failure || !report.changes.empty();
  }
};

struct FirstLogin {
  bool pinned = false;            // the host's key is already known
  std::string identity = {};      // --identity: a key that already opens the hosts
  bool only_cluster_key = false;  // try no other key, because a password is available
  std::string key = {};           // the entry's private key
};

// The ssh arguments of a first login, up to but without the host. Pure.
[[nodiscard]] std::vector<std::string> first_login_words(const Entry& entry,
                                                         const FirstLogin& login);

// Interprets how a visit ended, from ssh's and the script's output. `pinned` is the key that the
// host should have. Pure.
[[nodiscard]] Visit judge_visit(const std::string& host, const Result<sys::Ended>& ended,
                                const std::optional<HostKey>& pinned);

// Runs the errands on hosts that accept the installed key; ssh asks no questions. `keep_open`
// leaves the shared connections open for the next command. Cost: one session per host, 64 at a
// time.
[[nodiscard]] std::vector<Visit> visit_by_key(const Launcher& launcher,
                                              std::span<const Errand> errands, bool keep_open);

struct FirstVisits {
  std::vector<Visit> visits;
  std::vector<KeyOffer> offers;  // the host keys that ssh asked about
};

// Performs first logins, 64 at a time. The person therefore sees up to 64 host keys together, and
// these connections stay open until the answer.
[[nodiscard]] Result<FirstVisits> visit_first(const Launcher& launcher,
                                              std::span<const Errand> errands,
                                              const std::string& identity, DoorPolicy policy,
                                              Person& person);

// Stops sharing open connections, so that the next command has to log in again. Sessions that still
// use a connection continue.
void stop_sharing(std::span<const Entry> entries);

}  // namespace muster::setup
