// The launcher's list of hosts that were set up, and the ssh configuration made of it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::setup {

// One host as `muster setup` knows it.
struct Entry {
  std::string name;
  std::string user = {};  // empty: what the user's own ssh configuration says
  int port = 0;           // 0: likewise
  std::string key = {};   // the private key file; empty: the cluster's, ~/.ssh/muster/id_ed25519

  friend bool operator==(const Entry&, const Entry&) = default;
};

// A name that may stand in a `Host` line and be a file's name: no blank, pattern, path or option.
[[nodiscard]] Result<void> check_name(const std::string& name);

// The same for an entry's user and key file.
[[nodiscard]] Result<void> check_entry(const Entry& entry);

// The file ~/.ssh/muster/hosts, a line "name<TAB>user<TAB>port<TAB>key" an entry; "-" is not given.
[[nodiscard]] Result<std::vector<Entry>> parse_entries(std::string_view text,
                                                       const std::string& file);
[[nodiscard]] std::string entries_text(std::span<const Entry> entries);

// `old` with the `wanted` hosts: a host that is new is added at the end, one that is there takes
// over what is said about it now and keeps the rest. Nothing is dropped. Linear.
[[nodiscard]] std::vector<Entry> merge(std::vector<Entry> old, std::span<const Entry> wanted);

// ~/.ssh/muster/config: one block for each different user, port and key, with one `Host` line.
// Agrees with remote::ssh_words, so that plain `ssh` and muster share a connection.
[[nodiscard]] std::string config_text(std::span<const Entry> entries);

}  // namespace muster::setup
