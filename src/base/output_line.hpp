// The parts of a line of a job's output: the label that names its ranks, and the text that a
// terminal shows. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Returns "0-31" or "0,3,5-7". `ranks` must be sorted.
[[nodiscard]] std::string ranks_text(const std::vector<int>& ranks);

// The parts of "[n1:3] text" or "[n[1-4]:0-31] text".
struct LabelledText {
  std::string_view hosts;  // "n1"
  std::string_view ranks;  // "3"; the caller must check that it holds numbers
  std::string_view text;
};
// Returns nothing if the line does not begin with such a label.
[[nodiscard]] std::optional<LabelledText> take_label(std::string_view line);

// Returns what a terminal shows in the end if carriage returns in the line overwrite text, as in a
// progress bar. Without the newline.
[[nodiscard]] std::string_view last_drawn(std::string_view line);

}  // namespace muster
