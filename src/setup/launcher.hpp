// The launcher's own files: keys, pinned host keys, the list of hosts and the configuration made of
// it, all below ~/.ssh/muster (mode 0700), and one line in ~/.ssh/config.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "setup/client_config.hpp"
#include "setup/prompt.hpp"
#include "sys/file.hpp"

namespace muster::setup {

// "OpenSSH_9.2p1 Debian-2..., OpenSSL ..." -> {9, 2}.
[[nodiscard]] std::optional<std::pair<int, int>> parse_ssh_version(std::string_view text);

// The keys that `ssh-keygen -lf` lists: "256 SHA256:... n1 (ED25519)".
[[nodiscard]] std::vector<HostKey> parse_key_list(std::string_view out);

// "ssh-ed25519 AAAA... comment" without a newline, or an Error when it is no public key.
[[nodiscard]] Result<std::string> parse_public_key(std::string_view text, const std::string& file);

class Launcher {
 public:
  // Refuses where ssh would read other files than we write (HOME is not the account's home) or is
  // too old.
  [[nodiscard]] static Result<Launcher> open();

  [[nodiscard]] std::string folder() const { return home_ + "/.ssh/muster"; }
  [[nodiscard]] std::string cluster_key() const { return folder() + "/id_ed25519"; }
  [[nodiscard]] std::string key_of(const Entry& entry) const {
    return entry.key.empty() ? cluster_key() : entry.key;
  }
  [[nodiscard]] std::string pin(const std::string& host) const {
    return folder() + "/known_hosts.d/" + host;
  }
  [[nodiscard]] bool has_pin(const std::string& host) const { return sys::exists(pin(host)); }

  // Makes the folders. Nobody else changes them until the lock goes.
  [[nodiscard]] Result<sys::Fd> prepare();

  // Makes an ed25519 key pair without passphrase unless it is there.
  [[nodiscard]] Result<void> ensure_key(const std::string& path, const std::string& purpose);
  // Of the private key `path`: its .pub, else what ssh-keygen derives.
  [[nodiscard]] Result<std::string> public_key(const std::string& path) const;

  // The pinned key of a host, if there is one.
  [[nodiscard]] std::optional<HostKey> pinned_key(const std::string& host) const;
  void remove_pin(const std::string& host) const;

  [[nodiscard]] Result<std::vector<Entry>> read_entries() const;
  // Who is set up, or about to be.
  [[nodiscard]] Result<void> write_list(std::span<const Entry> entries);
  // ssh's configuration for these, and the Include.
  [[nodiscard]] Result<void> write_config(std::span<const Entry> entries);

  // What undo does here: the Include goes, ~/.ssh/config becomes what it was, the folder goes.
  [[nodiscard]] Result<void> undo();

  // What prepare, write_config and undo would change, as far as it can be told beforehand.
  [[nodiscard]] Result<std::vector<std::string>> foretell(bool undo) const;

  // What was changed so far, for people.
  [[nodiscard]] const std::vector<std::string>& changes() const { return changes_; }

 private:
  explicit Launcher(std::string home) : home_(std::move(home)) {}
  [[nodiscard]] Result<void> run_script(std::string script);
  [[nodiscard]] Result<void> write_if_new(const std::string& path, const std::string& content,
                                          const std::string& label);

  std::string home_;
  std::vector<std::string> changes_;
};

}  // namespace muster::setup
