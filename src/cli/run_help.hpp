#pragma once

namespace muster::cli {

// The text below the flags in `muster run --help`.
[[nodiscard]] const char* run_footer();

}  // namespace muster::cli
