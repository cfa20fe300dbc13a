// Explanations and catalogue entries as text for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "catalogue/catalogue.hpp"
#include "explain/explanation.hpp"

namespace muster::explain {

// Returns the whole explanation. Lines have at most `width` columns where the words allow it.
[[nodiscard]] std::string full_text(const Explanation& explanation, std::size_t width);

// Returns a catalogue entry as a page for people.
[[nodiscard]] std::string handbook_text(const catalogue::Failure& failure, std::size_t width);
// Returns one line per failure, sorted by symptom.
[[nodiscard]] std::string list_text(const std::vector<catalogue::Failure>& failures);
// Returns the contents of docs/troubleshooting.md.
[[nodiscard]] std::string troubleshooting_page(const std::vector<catalogue::Failure>& failures);

}  // namespace muster::explain
