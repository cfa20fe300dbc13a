// The message that a user sees when text is rejected.
#pragma once

#include <string>

#include "base/error.hpp"

namespace muster::hosts {

template <class T>
std::string refusal(const Result<T>& result) {
  if (result) return "(accepted)";
  if (result.error().code != ErrorCode::kUsage) return "(another code than kUsage)";
  return to_text(result.error());
}

}  // namespace muster::hosts
