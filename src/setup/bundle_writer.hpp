// Writes a bundle: makes the keys that are not there yet and every file that differs.
#pragma once

#include <string>
#include <vector>

#include "setup/bundle.hpp"

namespace muster::setup {

struct BundleWritten {
  std::vector<std::string> changed;  // paths made or written anew, keys first; empty: all was there
  bool owner_set = false;            // false: we are not root and not that user, who has to chown
};

// Keys that are there are kept. A file that is there and differs is an error unless `force`.
[[nodiscard]] Result<BundleWritten> write_bundle(const std::string& folder,
                                                 const BundleOptions& options, bool force);

// Copies this muster into the bundle, for the launcher's container. False: it is there already.
[[nodiscard]] Result<bool> copy_program(const std::string& folder);

}  // namespace muster::setup
