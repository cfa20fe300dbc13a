#include "setup/host_script.hpp"

#include <sstream>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "sys/quote.hpp"

namespace muster::setup {
namespace {

std::string variable(std::string_view name, std::string_view value) {
  return fmt::format("{}={}\n", name, sys::quote(value));
}

std::string opening(std::string_view verb, Place place, bool dry) {
  const bool host = place == Place::kHost;
  return variable("verb", verb) + variable("dry", dry ? "1" : "0") +
         fmt::format("undo=$HOME/.ssh/{}\n", host ? "muster-undo" : "muster/undo") +
         variable("folder", host ? "muster-mesh" : "muster");
}

std::string whole(std::string text) {
  text += host_functions();
  return text;
}

// The part "ssh-ed25519 AAAA..." of a public key line. Lines with the same part contain the same
// key.
std::string_view type_and_key(std::string_view line) {
  const std::size_t first = line.find(' ');
  if (first == std::string_view::npos) return line;
  return line.substr(0, line.find(' ', first + 1));
}

std::string mesh_settings(const MeshPart& part) {
  std::string text;
  if (!part.user.empty()) text += fmt::format("  User {}\n", part.user);
  if (part.port != 0) text += fmt::format("  Port {}\n", part.port);
  return text +
         "  IdentityFile ~/.ssh/muster-mesh/own_ed25519\n"
         "  IdentitiesOnly yes\n"
         // A single file and no %n, because hosts may have an older ssh than the launcher needs.
         "  UserKnownHostsFile ~/.ssh/muster-mesh/known_hosts\n"
         "  GlobalKnownHostsFile /dev/null\n"
         "  StrictHostKeyChecking yes\n"
         "  VerifyHostKeyDNS no\n"
         "  CheckHostIP no\n"
         "  UpdateHostKeys no\n"
         "  ServerAliveInterval 5\n"
         "  ServerAliveCountMax 3";
}

}  // namespace

std::string install_script(std::string_view public_key, bool dry) {
  return whole(opening("install", Place::kHost, dry) + variable("key_line", public_key) +
               variable("key_match", type_and_key(public_key)));
}

std::string prepare_script(bool dry) {
  return whole(opening("prepare", Place::kLauncher, dry));
}

std::string include_script(bool dry) {
  return whole(opening("include", Place::kLauncher, dry) +
               variable("include_line", "Include muster/config"));
}

std::string undo_script(Place place, bool dry, std::span<const std::string> our_keys) {
  std::vector<std::string_view> matches;
  for (const std::string& key : our_keys) matches.push_back(type_and_key(key));
  return whole(opening("undo", place, dry) +
               variable("our_keys", fmt::format("{}", fmt::join(matches, "\n"))));
}

std::string identity_script() {
  return whole(opening("identity", Place::kHost, false));
}

std::string mesh_script(const MeshPart& part, bool dry) {
  return whole(opening("mesh", Place::kHost, dry) + variable("mesh_keys", part.keys) +
               variable("mesh_pins", part.pins) + variable("mesh_settings", mesh_settings(part)) +
               variable("include_line", "Include muster-mesh/config"));
}

ScriptReport parse_script_report(std::string_view out) {
  ScriptReport report;
  std::istringstream stream{printable_lines(out)};
  for (std::string line; std::getline(stream, line);) {
    if (line == "muster end") report.ended = true;
    const auto tail = [&line](std::string_view head) -> std::optional<std::string> {
      if (line.rfind(head, 0) != 0) return std::nullopt;
      return line.substr(head.size());
    };
    if (auto text = tail("muster changed ")) report.changes.push_back(*std::move(text));
    if (auto text = tail("muster address ")) report.addresses.push_back(*std::move(text));
    if (auto text = tail("muster key ")) report.public_key = *std::move(text);
    if (auto text = tail("muster failed ")) report.failure = *std::move(text);
  }
  return report;
}

}  // namespace muster::setup
