#pragma once

namespace muster::cli {

// What `muster run --help` says below the flags.
[[nodiscard]] const char* run_footer();

}  // namespace muster::cli
