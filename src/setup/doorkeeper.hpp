// Decides how to answer ssh's questions during first logins. It receives questions and the ends of
// logins, and returns replies. Sockets and processes are handled in askpass.cpp and login.cpp. Not
// thread-safe: the caller must serialise calls.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "setup/fingerprints.hpp"
#include "setup/person.hpp"
#include "setup/prompt.hpp"
#include "setup/secret.hpp"

namespace muster::setup {

// Which host keys are accepted, and the password for all hosts.
struct DoorPolicy {
  bool accept_all = false;                               // --yes
  std::optional<Fingerprints> expected = {};             // --fingerprints
  std::unordered_map<std::string, HostKey> pinned = {};  // hosts that already have a pinned key
  std::optional<Secret> password = {};                   // empty: ask the person when it is needed
};

struct Question {
  int id = 0;  // chosen by the caller; replies carry it
  std::string host;
  std::string prompt;
  bool from_jump_host = false;  // asked by the ssh to a jump host on the way
};

enum class ReplyKind {
  kAnswer,
  kDecline,  // no answer; ssh continues with its next method
  kEndSsh,   // no answer, and ssh must end: it would otherwise continue in vain
};

struct Reply {
  int id = 0;
  ReplyKind kind = ReplyKind::kDecline;
  Secret text = {};
};

// Why the login to a host failed. Shown in place of ssh's own message.
struct Trouble {
  std::string what;
  std::string hint;
  bool if_denied = false;  // use it only if the login is denied: the password was sent
};

class Doorkeeper {
 public:
  // `person` must outlive this object.
  Doorkeeper(DoorPolicy policy, Person& person) : policy_(std::move(policy)), person_(person) {}

  // Logins to these hosts start now. Host keys are shown to the person all together, once every
  // login has asked its question or ended. A host may begin again after its connection was lost; it
  // then gets the password again.
  void begin(std::span<const std::string> hosts);

  [[nodiscard]] std::vector<Reply> on_question(const Question& question);
  [[nodiscard]] std::vector<Reply> on_end(const std::string& host);

  [[nodiscard]] const Trouble* trouble(const std::string& host) const;
  [[nodiscard]] const std::vector<KeyOffer>& offers() const { return offers_; }
  [[nodiscard]] bool person_was_asked() const { return person_was_asked_; }  // since begin()

 private:
  struct Waiting {
    int id;
    std::string host;
    Prompt prompt;
  };

  [[nodiscard]] std::optional<Reply> at_once(const Question& question, const Prompt& prompt);
  [[nodiscard]] std::optional<Reply> host_key(const Question& question, const Prompt& prompt);
  [[nodiscard]] Reply give_password(int id, const std::string& host);
  [[nodiscard]] std::optional<Reply> password(const Question& question, const Prompt& prompt);
  [[nodiscard]] Reply passphrase(const Question& question, const Prompt& prompt);
  [[nodiscard]] Reply refuse_key(int id, const std::string& host, std::string what,
                                 std::string hint);
  [[nodiscard]] Reply end(int id, const std::string& host, std::string what, std::string hint);
  [[nodiscard]] std::vector<Reply> settle();
  [[nodiscard]] std::vector<Reply> settle_keys();
  [[nodiscard]] std::vector<Reply> settle_passwords();

  DoorPolicy policy_;
  Person& person_;
  bool person_was_asked_ = false;
  std::unordered_set<std::string> running_;
  std::unordered_map<std::string, std::size_t> order_;  // of the hosts, for messages
  std::vector<Waiting> waiting_;
  std::unordered_set<std::string> got_password_;
  std::unordered_map<std::string, Secret> passphrases_;  // by key file; each is asked for once
  std::unordered_map<std::string, Trouble> troubles_;
  std::vector<KeyOffer> offers_;  // every host key question so far
};

}  // namespace muster::setup
