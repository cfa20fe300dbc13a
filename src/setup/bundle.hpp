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
  int port = 12345;                // of the workers' sshd, on the machine (network=host)
  std::string image = {};          // empty: the scripts ask for it
  std::string workload = {};       // a folder on every machine, shown as /workload; empty: none
};

// What cannot work is refused here, before anything is written.
[[nodiscard]] Result<void> check(const BundleOptions& options);

struct BundleFile {
  std::string path;  // relative to the bundle
  mode_t mode;
  std::string content;
};

// "ssh-ed25519 AAAA...", as in a .pub file; a comment may follow.
struct BundleKeys {
  std::string cluster;  // the launcher logs in with its private half
  std::string host;     // all workers' sshd show this one
};

// Private keys lie at these places, made by ssh-keygen; every other file is made from them.
constexpr std::string_view kClusterKey = "launcher/id_ed25519";
constexpr std::string_view kHostKeyFile = "worker/ssh_host_ed25519_key";

// All files but the two private keys. Pure.
[[nodiscard]] std::vector<BundleFile> bundle_files(const BundleOptions& options,
                                                   const BundleKeys& keys);

// Starts the container of a worker and of the launcher. Every value can be set for one run by an
// environment variable: IMAGE, COMMAND, ENGINE, WORKLOAD, SHM_SIZE, MASTER_ADDR, MASTER_PORT.
[[nodiscard]] std::string worker_script(const BundleOptions& options);
[[nodiscard]] std::string launcher_script(const BundleOptions& options);

}  // namespace muster::setup
