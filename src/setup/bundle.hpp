// The ssh folders of a launcher container and of its workers, and the commands that start them:
// what makes containers without root reach each other, with host keys pinned from the start.
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

// "1000:1000"
[[nodiscard]] Result<Owner> parse_owner(std::string_view text);

struct BundleOptions {
  std::vector<std::string> hosts;  // the machines; the first one runs the launcher
  Owner owner = {};                // the container's user
  std::string user = {};           // its name; empty: the last part of `home`
  std::string home = "/home/dev";  // its home folder in the container, absolute
  int port = 12345;                // of the workers' sshd
  std::string image = {};          // empty: the scripts ask for it
  std::string workload = {};       // a folder on every machine, shown as /workload; empty: none
  std::string network = "host";    // the machines' own; any other name is a network on one machine
  std::string subnet = {};         // of such a network: "198.18.50.0/24"
};

// The launcher gets the first address after the gateway's, the workers those that follow. Empty:
// the containers use their machines' addresses.
[[nodiscard]] std::vector<std::string> addresses(const BundleOptions& options);

// What cannot work is refused here, before anything is written.
[[nodiscard]] Result<void> check(const BundleOptions& options);

struct BundleFile {
  std::string path;  // relative to the bundle
  mode_t mode;
  std::string content;
};

// "ssh-ed25519 AAAA...", as in a .pub file; a comment may follow.
struct BundleKeys {
  std::string cluster;             // the launcher logs in with its private half
  std::vector<std::string> hosts;  // of each worker's sshd, in the order of `worker_names`
};

// Of the container's user.
[[nodiscard]] std::string user_name(const BundleOptions& options);

// All hosts but the first.
[[nodiscard]] std::vector<std::string> worker_names(const BundleOptions& options);

// ssh-keygen makes the private keys at these paths; every other file is made from them.
constexpr std::string_view kClusterKey = "launcher/id_ed25519";
[[nodiscard]] std::string host_key_path(const std::string& worker);

// All files but the private keys. `folder` is the bundle's own absolute path. Pure.
[[nodiscard]] std::vector<BundleFile> bundle_files(const BundleOptions& options,
                                                   const BundleKeys& keys,
                                                   const std::string& folder);

// Start the container of a worker and of the launcher. docs/containers.md lists the environment
// variables that change a value for one run.
[[nodiscard]] std::string worker_script(const BundleOptions& options);
[[nodiscard]] std::string launcher_script(const BundleOptions& options);

// For an image with sshd, an MPI, PyTorch and the container's user.
[[nodiscard]] std::string containerfile(const BundleOptions& options);

}  // namespace muster::setup
