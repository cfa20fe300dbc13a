// A bundle: the ssh folders of a launcher container and its workers, and the scripts that start
// them. With it, containers without root can reach each other, and their host keys are pinned from
// the start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::setup {

struct Owner {
  uid_t user = 1000;
  gid_t group = 1000;

  friend bool operator==(const Owner&, const Owner&) = default;
};

// Parses "1000:1000".
[[nodiscard]] Result<Owner> parse_owner(std::string_view text);

struct BundleOptions {
  std::vector<std::string> hosts;  // the machines; the first one runs the launcher
  Owner owner = {};                // the user in the container
  std::string user = {};           // that user's name; empty: the last part of `home`
  std::string home = "/home/dev";  // absolute path of the home folder in the container
  int port = 12345;                // port of the workers' sshd
  std::string image = {};          // empty: the start scripts ask for it
  std::string workload = {};       // a folder on every machine, mounted as /workload; empty: none
  // "host" is the machine's network. Any other value names a network on one machine.
  std::string network = "host";
  std::string subnet = {};  // for a named network: "198.18.50.0/24"
};

// Returns the containers' addresses in `subnet`, in the order of `hosts`: the first address after
// the gateway's is the launcher's. Empty if the containers use their machines' addresses.
[[nodiscard]] std::vector<std::string> addresses(const BundleOptions& options);

// Rejects options that cannot work. To be called before anything is written.
[[nodiscard]] Result<void> check(const BundleOptions& options);

struct BundleFile {
  std::string path;  // relative to the bundle
  mode_t mode;
  std::string content;
};

// Public keys in the form "ssh-ed25519 AAAA...", as in a .pub file; a comment may follow.
struct BundleKeys {
  std::string cluster;             // the launcher logs in with the matching private key
  std::vector<std::string> hosts;  // each worker's sshd, in the order of `worker_names`
};

// The name of the container's user.
[[nodiscard]] std::string user_name(const BundleOptions& options);

// All hosts but the first.
[[nodiscard]] std::vector<std::string> worker_names(const BundleOptions& options);

// The paths of the private keys. ssh-keygen creates these; all other files follow from the keys and
// the options.
constexpr std::string_view kClusterKey = "launcher/id_ed25519";
[[nodiscard]] std::string host_key_path(const std::string& worker);

// The file of the muster for `machine`, which is an architecture as `uname -m` names it. The bundle
// has one such file per build of muster that is installed.
[[nodiscard]] std::string program_name(std::string_view machine);

// All files except the private keys and the programs. `folder` is the absolute path of the bundle.
// Pure.
[[nodiscard]] std::vector<BundleFile> bundle_files(const BundleOptions& options,
                                                   const BundleKeys& keys,
                                                   const std::string& folder);

// The scripts that start a worker's and the launcher's container. docs/containers.md lists the
// environment variables that change a value for one run.
[[nodiscard]] std::string worker_script(const BundleOptions& options);
[[nodiscard]] std::string launcher_script(const BundleOptions& options);

// Builds an image with sshd, an MPI, PyTorch and the container's user.
[[nodiscard]] std::string containerfile(const BundleOptions& options);

}  // namespace muster::setup
