#include "run/bars.hpp"

#include <algorithm>
#include <charconv>

#include "base/characters.hpp"
#include "base/output_line.hpp"
#include "sys/terminal_filter.hpp"

namespace muster::run {
namespace {

constexpr std::size_t kMostShown = 4096;  // limit for an unfinished line, in bytes
constexpr std::size_t kMostSearched = std::size_t{16} << 10;

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(' ') == std::string_view::npos;
}

// Returns how many lines the sequences "ESC [ A" and "ESC [ n A" move the cursor up. Counts only
// sequences that end after the first `known` bytes.
std::size_t rows_up(std::string_view text, std::size_t known) {
  constexpr std::size_t kLongest = 4;
  std::size_t rows = 0;
  std::size_t at = known - std::min(known, kLongest);
  while ((at = text.find("\x1b[", at)) != std::string_view::npos) {
    const std::size_t digits = at + 2;
    at = text.find_first_not_of("0123456789", digits);
    if (at == std::string_view::npos || at < known || text[at] != 'A') continue;
    std::size_t count = 1;
    (void)std::from_chars(text.data() + digits, text.data() + at, count);
    rows = std::min(rows + std::min(count, Folding::kMostRows), Folding::kMostRows);
  }
  return rows;
}

// Whether the text begins by erasing its line.
bool is_on_clean_line(std::string_view drawn) {
  return drawn.starts_with("\x1b[2K") || drawn.starts_with("\x1b[K") ||
         drawn.starts_with("\x1b[0K");
}

// The width of a character in columns. East Asian wide characters and emoji take two.
std::size_t columns_of(std::uint32_t code) {
  const auto is_in = [code](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  const bool is_wide = is_in(0x1100, 0x115F) || is_in(0x2E80, 0xA4CF) || is_in(0xAC00, 0xD7A3) ||
                       is_in(0xF900, 0xFAFF) || is_in(0xFE30, 0xFE6F) || is_in(0xFF00, 0xFF60) ||
                       is_in(0x1F300, 0x1FAFF) || is_in(0x20000, 0x3FFFD);
  return is_wide ? 2 : 1;
}

// The length of the control sequence or control character at the start of the text; 0 if there is
// none. The text must have passed a TerminalFilter. A tab does not count.
std::size_t control_bytes(std::string_view text) {
  if (text.starts_with('\b') || text.starts_with('\r')) return 1;
  if (!text.starts_with('\x1b')) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;:", 2);
  return end == std::string_view::npos ? text.size() : end + 1;
}

}  // namespace

bool is_bar(std::string_view line) {
  const std::string_view text = without_end(line);
  const std::size_t start = text.rfind('\r');
  if (start == std::string_view::npos) return false;
  // This is either a line above the bar or the bar's last state. Show it: it may matter to the
  // user.
  if (line.ends_with('\n') && is_on_clean_line(text.substr(start + 1))) return false;
  const std::string_view before = without_end(text.substr(0, start));
  return before.empty() || !is_blank(last_drawn(before));
}

bool shows_nothing(std::string_view line) {
  const bool is_drawn = without_end(line).find_first_of("\r\x1b") != std::string_view::npos;
  return is_drawn && is_blank(in_its_line(last_drawn(line)));
}

std::string in_its_line(std::string_view text) {
  const std::string shown = sys::TerminalFilter().take(text);
  std::string kept;
  for (std::string_view rest = shown; !rest.empty();) {
    const std::size_t plain = std::min(rest.find_first_of("\x1b\b\r"), rest.size());
    kept += rest.substr(0, plain);
    rest.remove_prefix(plain);
    const std::string_view control = rest.substr(0, control_bytes(rest));
    if (control.ends_with('m')) kept += control;
    rest.remove_prefix(control.size());
  }
  return kept;
}

std::string fitted(std::string_view text, std::size_t columns) {
  const std::string line = in_its_line(text.substr(0, kMostShown));
  std::string fitting;
  std::size_t used = 0;
  for (std::string_view rest = line; !rest.empty();) {
    const std::size_t control = control_bytes(rest);
    const Character next = first_character(rest);
    const std::size_t bytes = control > 0 ? control : next.bytes;
    if (control == 0) used += columns_of(next.code);
    if (used > columns) break;
    fitting += rest.front() == '\t' ? " " : rest.substr(0, bytes);
    rest.remove_prefix(bytes);
  }
  return fitting;
}

void Bars::notice_bar(int rank) {
  if (rank >= lowest_) return;
  live_.erase({lowest_, sys::Stream::kOut});
  live_.erase({lowest_, sys::Stream::kErr});
  lowest_ = rank;
}

std::size_t Bars::moved_up(const Key& key, std::string_view line) {
  const std::size_t rows = rows_up(line, std::exchange(looked_[key], line.size()));
  if (rows > 0) tall_.insert(key);
  return rows;
}

std::size_t Bars::grow(sys::Stream stream, const Source& from, std::string_view line) {
  const Key key(from.rank, stream);
  if (line.empty()) {
    looked_.erase(key);
    live_.erase(key);
    return 0;
  }
  const std::size_t moved = moved_up(key, line);
  const std::string_view end = line.substr(line.size() - std::min(line.size(), kMostSearched));
  const bool bar = is_bar(end);
  if (bar) notice_bar(from.rank);
  const std::string_view text = last_drawn(end);
  if (is_blank(text) || shows_nothing(text) || (bar && !shows(from.rank))) {
    live_.erase(key);
  } else {
    live_[key] = {.stream = stream,
                  .from = from,
                  .text = std::string(text.substr(0, kMostShown)),
                  .is_bar = bar};
  }
  return moved;
}

std::size_t Bars::end(sys::Stream stream, const Source& from, std::string_view line) {
  const std::size_t moved = moved_up({from.rank, stream}, line);
  if (is_bar(line)) notice_bar(from.rank);
  (void)grow(stream, from, {});
  return moved;
}

const Bars::Live* Bars::live() const {
  if (live_.empty()) return nullptr;
  const auto bar =
      std::find_if(live_.begin(), live_.end(), [](const auto& one) { return one.second.is_bar; });
  return bar == live_.end() ? &live_.begin()->second : &bar->second;
}

}  // namespace muster::run
