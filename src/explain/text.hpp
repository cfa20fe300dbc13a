// Explanations and the catalogue as text for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "catalogue/catalogue.hpp"
#include "explain/explanation.hpp"

namespace muster::explain {

// Everything, in lines of at most `width` columns where words allow it.
[[nodiscard]] std::string full_text(const Explanation& explanation, std::size_t width);

// One failure, as a page of a handbook.
[[nodiscard]] std::string handbook_text(const catalogue::Failure& failure, std::size_t width);
// A line per failure, by symptom.
[[nodiscard]] std::string list_text(const std::vector<catalogue::Failure>& failures);
// docs/troubleshooting.md
[[nodiscard]] std::string troubleshooting_page(const std::vector<catalogue::Failure>& failures);

}  // namespace muster::explain
