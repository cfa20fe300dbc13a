// The shell script that changes files in ~/.ssh, on a host or on the launcher, and its report.
// Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::setup {

// The text of host.sh. It works only after variables that say what to do, which the functions below
// put before it.
[[nodiscard]] std::string_view host_functions();

// Where the script runs. The place determines where the script keeps the data for undo and which
// folder in ~/.ssh is muster's.
enum class Place { kHost, kLauncher };

// The command that reads a script from standard input, whatever the login shell is.
constexpr std::string_view kScriptShell = "exec sh";

// Adds `public_key` ("ssh-ed25519 AAAA... comment") to authorized_keys and corrects file modes.
[[nodiscard]] std::string install_script(std::string_view public_key, bool dry);

// Creates ~/.ssh on the launcher if it is missing, and records that it was.
[[nodiscard]] std::string prepare_script(bool dry);

// Includes the launcher's generated configuration at the top of ~/.ssh/config.
[[nodiscard]] std::string include_script(bool dry);

// Restores what the scripts above changed. If the host also has keys that are not in `our_keys`
// (public key lines), another launcher still uses it, so only our keys are removed. If `our_keys`
// is empty, everything is undone.
[[nodiscard]] std::string undo_script(Place place, bool dry,
                                      std::span<const std::string> our_keys = {});

// Prints the host's addresses and the public half of the host's own key, which it creates if it is
// missing.
[[nodiscard]] std::string identity_script();

// What a host needs to reach the others and to be reached by them.
struct MeshPart {
  std::string keys;  // lines "name authorized_keys-line"
  std::string pins;  // lines "name known_hosts-line"
  std::string user = {};
  int port = 0;
};
[[nodiscard]] std::string mesh_script(const MeshPart& part, bool dry);

// What the script's output says. Other lines, such as those printed by a shell's start-up files,
// are ignored.
struct ScriptReport {
  std::vector<std::string> changes;
  std::vector<std::string> addresses;  // as claimed by the host
  std::string public_key;              // as claimed by the host
  std::optional<std::string> failure;
  bool ended = false;  // the script ran to its end
};
[[nodiscard]] ScriptReport parse_script_report(std::string_view out);

}  // namespace muster::setup
