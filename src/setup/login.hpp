// Runs host.sh on hosts: by the key over the shared connection, or in a first login that ssh asks
// questions about.
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

constexpr std::size_t kAtOnce = 64;  // connections

// One host to run a script on.
struct Errand {
  Entry entry;
  std::shared_ptr<const std::string> script;
};

// What came of it: the script's report, or why there is none.
struct Visit {
  std::string host;
  ScriptReport report = {};
  std::optional<Error> error = {};
  bool denied = false;  // the host was reached, is the right one, and accepted no key of ours
  bool lost = false;    // the connection ended before the script began, for no reason that ssh gave

  // The script ran, so files there may have changed.
  [[nodiscard]] bool entered() const {
    return report.ended || report.failure || !report.changes.empty();
  }
};

struct FirstLogin {
  bool pinned = false;            // the host's key is known already
  std::string identity = {};      // --identity: a key that opens the hosts
  bool only_cluster_key = false;  // no other key is tried: a password is at hand
  std::string key = {};           // the entry's private key
};

// The ssh words of a first login up to but without the host. Pure.
[[nodiscard]] std::vector<std::string> first_login_words(const Entry& entry,
                                                         const FirstLogin& login);

// How a visit ended, from what ssh and the script said. `pinned` is the key that the host should
// have. Pure.
[[nodiscard]] Visit judge_visit(const std::string& host, const Result<sys::Ended>& ended,
                                const std::optional<HostKey>& pinned);

// By the key, no questions. `keep_open` leaves the shared connection open for the next command.
// Cost: one session a host, 64 at a time.
[[nodiscard]] std::vector<Visit> visit_by_key(const Launcher& launcher,
                                              std::span<const Errand> errands, bool keep_open);

struct FirstVisits {
  std::vector<Visit> visits;
  std::vector<KeyOffer> offers;  // the host keys that were asked about
};

// First logins, 64 at a time: that many keys are shown at once, and held open meanwhile.
[[nodiscard]] Result<FirstVisits> visit_first(const Launcher& launcher,
                                              std::span<const Errand> errands,
                                              const std::string& identity, DoorPolicy policy,
                                              Person& person);

// Lets go of open connections, so that the next one shows what a new login meets. Sessions that
// still run on them go on.
void stop_sharing(std::span<const Entry> entries);

}  // namespace muster::setup
