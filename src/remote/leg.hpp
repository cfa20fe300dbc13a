// A leg: one host sends the files to another one, by an rsync that it runs itself. All pure: builds
// the command lines and interprets how they ended.
//
// The name of the receiving host may lead to a different machine there than here. So, before the
// leg, this machine puts a random token onto the receiver, through its own connection. The sender
// reads the token through the connection that rsync then uses, and compares it. A connection to
// another machine cannot present it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "remote/sync.hpp"
#include "remote/transport.hpp"

namespace muster::remote {

// Digits that name a leg's folders on both hosts, and the token.
struct LegSecret {
  std::string id;
  std::string token;
};
[[nodiscard]] LegSecret make_leg_secret();

// On the receiver. In /tmp, because hosts may share the home folder: then each of them would have
// the token.
[[nodiscard]] std::string receiver_folder(const LegSecret& secret);

// For the receiver. Reads the token from its input, so that it is in no argument list. Fails if the
// folder exists, so nobody can prepare it.
[[nodiscard]] std::string put_token_line(const LegSecret& secret);
// For the receiver after the leg. `failed`: also ends the processes of the sender's connection. If
// the sender is gone, its rsync would otherwise wait there for hours.
[[nodiscard]] std::string clean_up_line(const LegSecret& secret, bool failed);

// For the sender. `shell` is Transport::shell(). Sends SyncOptions::paths of the folder `to`, to
// the same folder on the receiver. Its input is leg_input; the command ends early if this input is
// closed. Exits with kNoLogin or kOtherMachine, else as rsync did.
constexpr int kNoLogin = 118;
constexpr int kOtherMachine = 119;
[[nodiscard]] std::string leg_line(const SyncOptions& options, std::span<const std::string> shell,
                                   const std::string& receiver, const LegSecret& secret);
[[nodiscard]] std::string leg_input(const SyncOptions& options, const LegSecret& secret);

// Why the leg failed, in words that are the same for equal reasons. Begins with kCannotLogIn if the
// sender could not log in to the receiver.
constexpr std::string_view kCannotLogIn = "the sending host cannot log in to the receiving one";
[[nodiscard]] std::string leg_failure(const SessionEnd& end);

}  // namespace muster::remote
