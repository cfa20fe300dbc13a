// The launcher's own files: keys, pinned host keys, the list of hosts and the configuration
// generated from it, all below ~/.ssh/muster (mode 0700), and one line in ~/.ssh/config.
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

// Turns "OpenSSH_9.2p1 Debian-2..., OpenSSL ..." into {9, 2}.
[[nodiscard]] std::optional<std::pair<int, int>> parse_ssh_version(std::string_view text);

// Parses the list that `ssh-keygen -lf` prints, with lines such as "256 SHA256:... n1 (ED25519)".
[[nodiscard]] std::vector<HostKey> parse_key_list(std::string_view out);

// Returns "ssh-ed25519 AAAA... comment" without a newline, or an Error if the text is not a public
// key.
[[nodiscard]] Result<std::string> parse_public_key(std::string_view text, const std::string& file);

class Launcher {
 public:
  // Fails if ssh is too old, or if HOME is not the account's home folder, so that ssh would read
  // other files than muster writes.
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

  // Creates the folders and locks them. No other muster changes them until the returned lock is
  // closed.
  [[nodiscard]] Result<sys::Fd> prepare();

  // Makes an ed25519 key pair without passphrase unless the file exists.
  [[nodiscard]] Result<void> ensure_key(const std::string& path, const std::string& purpose);
  // Returns the public half of the private key `path`: from its .pub file, or else as ssh-keygen
  // derives it.
  [[nodiscard]] Result<std::string> public_key(const std::string& path) const;

  // The pinned key of a host, if any.
  [[nodiscard]] std::optional<HostKey> pinned_key(const std::string& host) const;
  void remove_pin(const std::string& host) const;

  [[nodiscard]] Result<std::vector<Entry>> read_entries() const;
  // Writes the list of hosts that are set up or about to be.
  [[nodiscard]] Result<void> write_list(std::span<const Entry> entries);
  // Writes ssh's configuration for these hosts, and the Include line.
  [[nodiscard]] Result<void> write_config(std::span<const Entry> entries);

  // Undoes everything on this machine: removes the Include line, restores ~/.ssh/config and removes
  // the folder.
  [[nodiscard]] Result<void> undo();

  // Returns what prepare and write_config, or with `undo` undo, would change, as far as that can be
  // known in advance.
  [[nodiscard]] Result<std::vector<std::string>> foretell(bool undo) const;

  // The changes made so far, for people.
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
