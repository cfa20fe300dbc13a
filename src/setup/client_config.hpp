// The launcher's list of hosts that `muster setup` has set up, and the ssh configuration generated
// from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::setup {

// A host as `muster setup` knows it.
struct Entry {
  std::string name;
  std::string user = {};  // empty: as the user's own ssh configuration says
  int port = 0;           // 0: as the user's own ssh configuration says
  std::string key = {};   // the private key file; empty: the cluster's, ~/.ssh/muster/id_ed25519

  friend bool operator==(const Entry&, const Entry&) = default;
};

// Checks that a name can be used in a `Host` line and as a file name: it must not be a pattern, a
// path or an option, and must not contain blanks.
[[nodiscard]] Result<void> check_name(const std::string& name);

// Checks an entry's name, user and key file.
[[nodiscard]] Result<void> check_entry(const Entry& entry);

// The file ~/.ssh/muster/hosts has one line per entry: "name<TAB>user<TAB>port<TAB>key". "-" means
// that a value was not given.
[[nodiscard]] Result<std::vector<Entry>> parse_entries(std::string_view text,
                                                       const std::string& file);
[[nodiscard]] std::string entries_text(std::span<const Entry> entries);

// Merges the `wanted` hosts into `old`. New hosts are added at the end. Known hosts take the values
// that `wanted` gives and keep the others. No host is dropped. Cost: linear.
[[nodiscard]] std::vector<Entry> merge(std::vector<Entry> old, std::span<const Entry> wanted);

// The file ~/.ssh/muster/config: one block with one `Host` line for each combination of user, port
// and key. Its settings agree with remote::ssh_words, so that plain `ssh` and muster share a
// connection.
[[nodiscard]] std::string config_text(std::span<const Entry> entries);

}  // namespace muster::setup
