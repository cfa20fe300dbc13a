// Writes a bundle: creates missing keys, and all files that are missing or differ.
#pragma once

#include <string>
#include <vector>

#include "setup/bundle.hpp"

namespace muster::setup {

struct BundleWritten {
  std::vector<std::string> changed;  // paths created or rewritten, keys first; empty: nothing to do
  // True if the files belong to the container's user. False if this process is neither root nor
  // that user; then the person has to chown them.
  bool owner_set = false;
};

// Keeps existing keys. An existing file with different content is an error unless `force` is set.
[[nodiscard]] Result<BundleWritten> write_bundle(const std::string& folder,
                                                 const BundleOptions& options, bool force);

// Copies a muster binary into the bundle, as `path`. Returns false if the same binary is there
// already.
[[nodiscard]] Result<bool> copy_program(const std::string& from, const std::string& path);

}  // namespace muster::setup
