// Program output that will be shown on the user's terminal.
#include <string>

#include "base/output_line.hpp"
#include "require.hpp"
#include "run/bars.hpp"
#include "sys/terminal_filter.hpp"

namespace muster::fuzz {
namespace {

constexpr char kEsc = '\x1b';

// Returns the length of the control sequence at the start of `text` if it is allowed, because it
// sets a colour, erases or moves the cursor. Otherwise returns 0.
std::size_t allowed_control(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;:", 2);
  if (end == std::string_view::npos) return 0;
  return std::string_view("mKABCDG").find(text[end]) == std::string_view::npos ? 0 : end + 1;
}

// Requires that the text contains only text, line ends and allowed sequences.
void require_harmless(std::string_view shown) {
  while (!shown.empty()) {
    const std::size_t plain = shown.find_first_of("\t\r\n\b\x1b");
    require(is_printable(shown.substr(0, plain)), "hostile bytes do not reach a terminal");
    if (plain == std::string_view::npos) return;
    shown.remove_prefix(plain);
    const std::size_t control = shown.front() == kEsc ? allowed_control(shown) : 1;
    require(control > 0, "no other control sequence reaches a terminal");
    shown.remove_prefix(control);
  }
}

// What muster shows of a rank's line, whole or cut to a width, must not move the cursor.
void check_line(std::string_view line) {
  const std::string shown = run::in_its_line(last_drawn(line));
  require_harmless(shown);
  require(shown.find_first_of("\r\n\b") == std::string::npos, "no line is drawn over");
  constexpr std::size_t kColumns = 7;
  const std::string fitted = run::fitted(line, kColumns);
  for (const std::string& text : {shown, fitted}) {
    for (std::size_t at = 0; (at = text.find(kEsc, at)) != std::string::npos; ++at) {
      const std::size_t length = allowed_control(std::string_view(text).substr(at));
      require(length > 0 && text[at + length - 1] == 'm', "the cursor does not move");
    }
  }
  run::Bars bars;
  (void)bars.grow(sys::Stream::kErr, {}, line);
  (void)bars.end(sys::Stream::kErr, {}, line);
  require(bars.live() == nullptr, "a line that has ended is not live");
}

void check(std::string_view bytes) {
  sys::TerminalFilter at_once;
  const std::string shown = at_once.take(bytes);
  require_harmless(shown);
  sys::TerminalFilter in_parts;
  std::string together;
  constexpr std::size_t kPart = 3;
  for (std::size_t at = 0; at < bytes.size(); at += kPart) {
    together += in_parts.take(bytes.substr(at, kPart));
  }
  require(together == shown, "how the bytes are split does not matter");
  check_line(bytes.substr(0, bytes.find('\n')));
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
