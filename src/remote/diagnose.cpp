#include "remote/diagnose.hpp"

#include <array>
#include <charconv>

#include "base/printable.hpp"

namespace muster::remote {
namespace {

struct Known {
  std::string_view sign;  // part of ssh's message
  SshFailure failure;
};

// The first match wins, so the more specific messages come first.
constexpr std::array<Known, 11> kKnown = {{
    {"REMOTE HOST IDENTIFICATION HAS CHANGED",
     {"ssh-host-key-changed", "its host key is not the pinned one",
      "find out why the key changed before you do anything else; if the host was reinstalled, "
      "compare the new fingerprint at its console, then run: muster setup --forget HOST"}},
    {"Host key verification failed",
     {"ssh-host-key-unknown", "its host key is not known on this machine",
      "run muster setup, which pins the key"}},
    {"Too many authentication failures",
     {"ssh-too-many-agent-keys", "ssh offered the host too many keys before the right one",
      "run muster setup, which makes ssh offer only the right key (IdentitiesOnly)"}},
    {"UNPROTECTED PRIVATE KEY FILE",
     {"ssh-private-key-perms", "ssh refuses a private key that others can read",
      "chmod 600 the key file, or run muster setup"}},
    {"Bad owner or permissions on",
     {"ssh-private-key-perms", "ssh refuses a configuration that others can write",
      "chmod 600 ~/.ssh/config, or run muster setup"}},
    {"Permission denied (",
     {"ssh-publickey-denied", "the host refused the key",
      "run muster setup, which installs the key and corrects file modes"}},
    {"Could not resolve hostname",
     {"peer-hostname-unresolvable", "its name does not resolve on this machine",
      "correct the name, or add it to DNS, /etc/hosts or ~/.ssh/config"}},
    {"exchange_identification",  // ssh gives the reason only with -v
     {"ssh-maxstartups-throttle", "its sshd closed the connection before the login",
      "too many logins at once (MaxStartups), or sshd is restarting: try again; or sshd penalises "
      "this machine for earlier failed logins: wait some minutes"}},
    {"Connection refused",
     {"ssh-connect-refused-or-timeout", "nothing listens on its ssh port",
      "start sshd on the host, or pass the right port with --port"}},
    {"timed out",
     {"ssh-connect-refused-or-timeout", "it did not answer in time",
      "the host is down or a firewall drops the connection"}},
    {"No route to host",
     {"ssh-connect-refused-or-timeout", "there is no network route to the host",
      "the host is down, or this network cannot reach it"}},
}};

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t start = text.rfind('\n');
  return std::string(start == std::string_view::npos ? text : text.substr(start + 1));
}

// The text between `before` and `after`, without control characters; empty if they are not found.
std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t start = text.find(before);
  if (start == std::string_view::npos) return {};
  const std::string_view rest = text.substr(start + before.size());
  const std::size_t end = rest.find(after);
  return end == std::string_view::npos ? std::string() : printable(rest.substr(0, end));
}

}  // namespace

ChangedKey changed_key(std::string_view stderr_text) {
  if (stderr_text.find("REMOTE HOST IDENTIFICATION HAS CHANGED") == std::string_view::npos)
    return {};
  ChangedKey changed;
  const std::string digits = between(stderr_text, "SHA256:", "\n");
  if (!digits.empty())
    changed.presented = "SHA256:" + digits.substr(0, digits.find_first_of(".? "));
  // ssh prints "Offending ED25519 key in FILE:1".
  const std::string offending = between(stderr_text, "Offending ", "\n") + "\n";
  const std::string place = between(offending, " key in ", "\n");
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos) return changed;
  changed.pinned_file = place.substr(0, colon);
  std::from_chars(place.data() + colon + 1, place.data() + place.size(), changed.pinned_line);
  return changed;
}

std::optional<SshFailure> diagnose(std::string_view stderr_text) {
  for (const Known& known : kKnown) {
    if (stderr_text.find(known.sign) != std::string_view::npos) return known.failure;
  }
  return std::nullopt;
}

std::string first_words(std::string_view said) {
  constexpr std::size_t kMostBytes = 1000;
  const std::string_view line = said.substr(0, said.find('\n'));
  if (line.size() <= kMostBytes) return printable(line);
  return printable(line.substr(0, kMostBytes)) + " ...";
}

Error unreachable(const std::string& host, std::string_view stderr_text) {
  Error error{.code = ErrorCode::kUnreachable, .where = {.host = host}};
  const auto known = diagnose(stderr_text);
  if (known) {
    error.what = known->what;
    error.hint = known->hint;
  } else {  // when a shared connection breaks, ssh ends its sessions without a message
    error.what = "the connection to the host failed or was lost";
    error.hint =
        "the host or the network to it went down; processes that were started there may still be "
        "running";
  }
  if (std::string said = printable(last_line(stderr_text)); !said.empty()) {
    said.insert(0, known ? "ssh said: " : "last output: ");
    error.cause = std::make_shared<const Error>(Error{.what = std::move(said)});
  }
  return error;
}

}  // namespace muster::remote
