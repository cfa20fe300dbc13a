#include "explain/brief.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "explain/wording.hpp"
#include "report/wrap.hpp"

namespace muster::explain {
namespace {

constexpr std::size_t kLabel = 13;  // width of "  your code  "
constexpr std::string_view kCut = "...";

// How much of each part is shown.
struct Room {
  std::size_t title = 0;  // lines
  std::size_t evidence = 0;
  std::size_t steps = 0;
  std::size_t step = 0;  // lines per step
  std::size_t others = 0;
  bool is_whole = false;  // show the first exception of a chain too
};
// From the most to the fewest lines.
constexpr std::array kRooms = {
    Room{.title = 2, .evidence = 2, .steps = 2, .step = 3, .others = 2, .is_whole = true},
    Room{.title = 2, .evidence = 1, .steps = 2, .step = 2, .others = 2},
    Room{.title = 2, .evidence = 1, .steps = 2, .step = 2, .others = 1},
    Room{.title = 2, .evidence = 1, .steps = 1, .step = 2, .others = 1},
    Room{.title = 1, .evidence = 1, .steps = 1, .step = 1},
    Room{.title = 1},
};

// Keeps the end of a long path, because that is what distinguishes files.
std::string end_of_path(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  const std::size_t from = text.size() - width + std::min(width, kCut.size());
  const std::size_t slash = text.find('/', from);
  std::size_t begin = slash == std::string::npos ? from : slash;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) ++begin;
  return std::string(kCut) + text.substr(begin);
}

class Rows {
 public:
  explicit Rows(std::size_t width) : width_(std::max(width, 2 * kLabel) - kLabel) {}

  void add(std::string_view label, const std::string& text, std::size_t most) {
    for (const std::string& line : report::cut_lines(text, width_, most)) {
      lines_.push_back(fmt::format("  {:<11}{}", label, line));
      label = "";
    }
  }
  void add_path(std::string_view label, const std::string& text) {
    lines_.push_back(fmt::format("  {:<11}{}", label, end_of_path(text, width_)));
  }
  [[nodiscard]] bool has_room_for(std::string_view command) const {
    return command.size() <= width_;
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::size_t width_;
  std::vector<std::string> lines_;
};

// Leaves out a command that does not fit into one line, so that users can paste every command
// shown.
void add_steps(Rows& rows, const Cause& cause, const Room& room) {
  if (cause.failure == nullptr) return;
  std::size_t shown = 0;
  for (const std::string& step : cause.failure->fix) {
    if (shown == room.steps) return;
    const std::string words = filled(step, cause.step_values);
    const bool is_command = words.starts_with("$ ");
    const std::string text = is_command ? words.substr(2) : sentence(words, step);
    if (is_command && !rows.has_room_for(text)) continue;
    rows.add(shown == 0 ? "to fix" : "", is_command || text.ends_with('.') ? text : text + ".",
             room.step);
    ++shown;
  }
}

void add_evidence(Rows& rows, const Cause& cause, const Room& room) {
  if (cause.place.file.empty()) return rows.add("shown by", cause.text, room.evidence);
  const bool is_told = cause.failure == nullptr;  // then the line is the title already
  rows.add("seen in", is_told ? place_text(cause.place) : evidence_of(cause), room.evidence);
}

std::vector<std::string> lines_in(const Explanation& explanation, const Room& room,
                                  std::size_t width) {
  const Cause& cause = explanation.causes.front();
  Rows rows(width);
  const bool is_sure = explanation.confidence == Confidence::kHigh;
  rows.add(is_sure ? "cause" : "maybe", title_of(cause), room.title);
  const std::string where = who(cause);
  if (!where.empty() && !explanation.verdict.starts_with(where + " ")) rows.add("where", where, 1);
  if (cause.exception && !cause.exception->exception.frame.file.empty()) {
    const Exception& exception = cause.exception->exception;
    rows.add_path(exception.is_users ? "your code" : "code", frame_text(exception.frame));
    if (exception.first && room.is_whole) rows.add("because of", headline(*exception.first), 1);
  }
  if (room.evidence > 0) add_evidence(rows, cause, room);
  if (!cause.found_before.empty()) rows.add("before", "check found it before the run", 1);
  add_steps(rows, cause, room);
  const std::size_t others = is_sure ? 0 : std::min(explanation.causes.size() - 1, room.others);
  for (std::size_t i = 1; i <= others; ++i) {
    const std::string whose = who(explanation.causes[i]);
    rows.add("or maybe", (whose.empty() ? "" : whose + ": ") + title_of(explanation.causes[i]), 1);
  }
  return rows.take();
}

}  // namespace

bool is_confident(const Explanation& explanation) {
  return explanation.confidence >= Confidence::kMedium && !explanation.causes.empty() &&
         !is_parting_words(explanation.causes.front());
}

std::vector<std::string> brief_lines(const Explanation& explanation, std::size_t most,
                                     std::size_t width) {
  if (explanation.causes.empty()) return {};
  std::vector<std::string> lines;
  for (const Room& room : kRooms) {
    lines = lines_in(explanation, room, width);
    if (lines.size() <= most) return lines;
  }
  lines.resize(most);
  return lines;
}

}  // namespace muster::explain
