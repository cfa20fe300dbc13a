// A line of a job's output, as muster shows and stores it: who printed it, and what is left of it
// on a terminal. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// "0-31", "0,3,5-7"; the ranks are in order.
[[nodiscard]] std::string ranks_text(const std::vector<int>& ranks);

// "[n1:3] text", "[n[1-4]:0-31] text".
struct LabelledText {
  std::string_view hosts;  // "n1"
  std::string_view ranks;  // "3"; whether these are numbers is for the caller to decide
  std::string_view text;
};
// Nothing: the line does not begin with such a label.
[[nodiscard]] std::optional<LabelledText> take_label(std::string_view line);

// What a terminal shows of a line in the end: a progress bar overwrites itself. Without the line's
// end.
[[nodiscard]] std::string_view last_drawn(std::string_view line);

}  // namespace muster
