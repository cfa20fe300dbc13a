// The shell script that changes files in ~/.ssh, on a host or here, and what it reports. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::setup {

// host.sh: the functions; one of the texts below goes before it.
[[nodiscard]] std::string_view host_functions();

// Where it runs decides where it keeps what undo needs and which folder is ours.
enum class Place { kHost, kLauncher };

// The command that reads a script on standard input, whatever the login shell is.
constexpr std::string_view kScriptShell = "exec sh";

// Adds `public_key` ("ssh-ed25519 AAAA... comment") to authorized_keys and puts modes right.
[[nodiscard]] std::string install_script(std::string_view public_key, bool dry);

// Makes ~/.ssh on the launcher, and remembers if it was not there.
[[nodiscard]] std::string prepare_script(bool dry);

// Includes the launcher's generated configuration at the top of ~/.ssh/config.
[[nodiscard]] std::string include_script(bool dry);

// Restores what the scripts above changed. Where keys other than `our_keys` (public key lines) were
// added too, another launcher still uses the host: then only ours go. None given: all go.
[[nodiscard]] std::string undo_script(Place place, bool dry,
                                      std::span<const std::string> our_keys = {});

// Asks a host for its addresses and the public half of a key of its own, which it makes if need be.
[[nodiscard]] std::string identity_script();

// What a host needs to reach the others, and they it.
struct MeshPart {
  std::string keys;  // lines "name authorized_keys-line"
  std::string pins;  // lines "name known_hosts-line"
  std::string user = {};
  int port = 0;
};
[[nodiscard]] std::string mesh_script(const MeshPart& part, bool dry);

// What a script said. Lines that are not the script's (a shell's start-up files talk too) are left
// out.
struct ScriptReport {
  std::vector<std::string> changes;
  std::vector<std::string> addresses;  // as the host claims
  std::string public_key;              // likewise
  std::optional<std::string> failure;
  bool ended = false;  // the script came to its end
};
[[nodiscard]] ScriptReport parse_script_report(std::string_view out);

}  // namespace muster::setup
