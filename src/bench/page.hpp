// Shows Results as one self-contained HTML page, which needs no script, no network and no other
// file.
#pragma once

#include <string>

#include "bench/results.hpp"

namespace muster::bench {

[[nodiscard]] std::string page_html(const Results& results);

}  // namespace muster::bench
