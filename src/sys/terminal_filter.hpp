// Keeps what programs on other machines print from taking control of the user's terminal: it could
// set the clipboard, ask the terminal to type answers into the shell, or wipe what is above.
#pragma once

#include <string>
#include <string_view>

namespace muster::sys {

// Passes text in UTF-8, tabs, backspaces, line ends, colours, and what progress bars need: erase
// the line, move the cursor by a few lines or columns. All other control characters and sequences
// are left out, and bytes that are not text become '?'. Each line begins in plain colours. Pure.
class TerminalFilter {
 public:
  // What of `bytes` may be shown. Only a character or sequence that is not complete is held back
  // until the next call.
  [[nodiscard]] std::string take(std::string_view bytes);

 private:
  enum class State {
    kText,
    kCharacter,     // held_: its first bytes
    kEscape,        // after ESC
    kIntermediate,  // after ESC and what announces one more byte, such as a character set
    kControl,       // held_: ESC, '[' and parameters
    kString,        // until its end: titles, links, the clipboard
    kStringEscape,  // after ESC within it
  };

  void add(char byte);
  void add_text(char byte);
  void add_to_character(char byte);
  void add_after_escape(char byte);
  void add_to_control(char byte);
  void add_to_string(char byte);
  void end_control();
  void begin_again(char byte);  // as text: what came before is left out

  State state_ = State::kText;
  std::string held_;
  bool styled_ = false;  // colours are set
  std::string shown_;
};

// A descriptor that may be a terminal.
class ShownStream {
 public:
  explicit ShownStream(int descriptor) : descriptor_(descriptor) {}

  // Writes all of it, filtered if it is a terminal now. False if that failed; errno says why.
  bool write(std::string_view bytes);

 private:
  int descriptor_;
  TerminalFilter filter_;
};

}  // namespace muster::sys
