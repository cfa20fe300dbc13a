// Prevents output of programs on other machines from controlling the user's terminal. Control
// sequences could set the clipboard, make the terminal type commands into the shell, or erase
// earlier output.
#pragma once

#include <string>
#include <string_view>

namespace muster::sys {

// Lets through UTF-8 text, tabs, backspaces, line ends and colours, and what progress bars need:
// erasing the line and moving the cursor by a few lines or columns. Removes all other control
// characters and sequences; bytes that are not text become '?'. Each line begins in plain colours.
// Pure.
class TerminalFilter {
 public:
  // Returns the part of `bytes` that may be shown. Only an incomplete character or sequence is kept
  // until the next call.
  [[nodiscard]] std::string take(std::string_view bytes);

 private:
  enum class State {
    kText,
    kCharacter,     // inside a character; held_ has its first bytes
    kEscape,        // after ESC
    kIntermediate,  // after ESC and a byte that needs one more, such as for a character set
    kControl,       // after ESC and '['; held_ has them and the parameters
    kString,        // inside a string such as a title, a link or clipboard data
    kStringEscape,  // after ESC within a string
  };

  void add(char byte);
  void add_text(char byte);
  void add_to_character(char byte);
  void add_after_escape(char byte);
  void add_to_control(char byte);
  void add_to_string(char byte);
  void end_control();
  void begin_again(char byte);  // drops the unfinished sequence and takes the byte as text

  State state_ = State::kText;
  std::string held_;
  bool styled_ = false;  // the current line has set colours
  std::string shown_;
};

// A descriptor that may be a terminal.
class ShownStream {
 public:
  explicit ShownStream(int descriptor) : descriptor_(descriptor) {}

  // Writes all bytes, filtered if the descriptor is a terminal at this moment. Returns false on
  // failure; errno has the reason.
  bool write(std::string_view bytes);

 private:
  int descriptor_;
  TerminalFilter filter_;
};

}  // namespace muster::sys
