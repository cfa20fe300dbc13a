// Stores in an attempt's folder what was known and decided before the attempt began.
#pragma once

#include <span>
#include <string>

#include "base/error.hpp"
#include "checks/finding.hpp"
#include "facts/facts.hpp"
#include "launch/plan.hpp"
#include "layout/layout.hpp"

namespace muster::cli {

struct RunValues {
  std::span<const facts::Survey> surveys;
  std::span<const checks::Finding> findings;
  const layout::Layout& layout;
  const launch::Plan& plan;  // files that belong to the plan are written too
};

[[nodiscard]] Result<void> write_values(const RunValues& values, const std::string& folder);

}  // namespace muster::cli
