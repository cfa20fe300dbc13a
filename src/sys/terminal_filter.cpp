#include "sys/terminal_filter.hpp"

#include <utility>

#include <unistd.h>

#include "base/characters.hpp"
#include "sys/file.hpp"

namespace muster::sys {
namespace {

constexpr char kEsc = '\x1b';
constexpr char kBell = '\a';
constexpr std::size_t kLongestControl = 64;
constexpr std::string_view kReset = "\x1b[0m";

bool is_between(char byte, char first, char last) {
  return byte >= first && byte <= last;
}

bool consists_of(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

// Whether this byte after ESC begins a string: OSC, DCS, SOS, PM or APC.
bool begins_string(char byte) {
  return byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_';
}

// Whether the sequence "ESC [ PARAMETERS FINAL" only changes colours, erases within its line, or
// moves the cursor up, down, right, left or to a column.
bool is_harmless(std::string_view parameters, char final) {
  constexpr std::size_t kDigits = 3;
  switch (final) {
    case 'm':
      return consists_of(parameters, "0123456789;:");
    case 'K':
      return parameters.size() <= 1 && consists_of(parameters, "012");
    case 'A':
    case 'B':
      return parameters.size() <= 1 && consists_of(parameters, "0123456789");
    case 'C':
    case 'D':
    case 'G':
      return parameters.size() <= kDigits && consists_of(parameters, "0123456789");
    default:
      return false;
  }
}

}  // namespace

std::string TerminalFilter::take(std::string_view bytes) {
  shown_.clear();
  shown_.reserve(bytes.size());
  for (const char byte : bytes) add(byte);
  return std::exchange(shown_, {});
}

void TerminalFilter::add(char byte) {
  switch (state_) {
    case State::kText:
      return add_text(byte);
    case State::kCharacter:
      return add_to_character(byte);
    case State::kEscape:
    case State::kIntermediate:
      return add_after_escape(byte);
    case State::kControl:
      return add_to_control(byte);
    case State::kString:
      return add_to_string(byte);
    case State::kStringEscape:
      state_ = byte == '\\' ? State::kText : State::kEscape;
      if (byte != '\\') add_after_escape(byte);
      return;
  }
}

void TerminalFilter::add_text(char byte) {
  if (is_between(byte, ' ', '~') || byte == '\t' || byte == '\b' || byte == '\r') {
    shown_ += byte;
  } else if (byte == '\n') {
    if (std::exchange(styled_, false)) shown_ += kReset;
    shown_ += byte;
  } else if (byte == kEsc) {
    state_ = State::kEscape;
  } else if (bytes_announced(byte) > 1) {
    held_ = byte;
    state_ = State::kCharacter;
  } else if (bytes_announced(byte) == 0) {
    shown_ += '?';
  }
}

void TerminalFilter::add_to_character(char byte) {
  if ((static_cast<unsigned char>(byte) & 0xC0) != 0x80) {
    shown_ += '?';
    return begin_again(byte);
  }
  held_ += byte;
  if (held_.size() < bytes_announced(held_[0])) return;
  if (is_graphic(first_character(held_).code)) {
    shown_ += held_;
  } else {
    shown_ += '?';
  }
  state_ = State::kText;
}

void TerminalFilter::add_after_escape(char byte) {
  if (is_between(byte, ' ', '/')) {
    state_ = State::kIntermediate;
  } else if (!is_between(byte, '0', '~')) {
    begin_again(byte);
  } else if (state_ == State::kEscape && byte == '[') {
    held_.clear();
    state_ = State::kControl;
  } else if (state_ == State::kEscape && begins_string(byte)) {
    state_ = State::kString;
  } else {
    state_ = State::kText;
  }
}

void TerminalFilter::add_to_control(char byte) {
  if (!is_between(byte, ' ', '~')) return begin_again(byte);
  if (held_.size() < kLongestControl) held_ += byte;
  if (is_between(byte, '@', '~')) end_control();
}

void TerminalFilter::end_control() {
  state_ = State::kText;
  const char final = held_.back();
  const std::string_view parameters = std::string_view(held_).substr(0, held_.size() - 1);
  if (!is_harmless(parameters, final)) return;
  shown_ += kEsc;
  shown_ += '[';
  shown_ += held_;
  if (final == 'm') styled_ = !parameters.empty() && parameters != "0";
}

// The end of the line also ends a string, so that an unfinished one cannot hide later output.
void TerminalFilter::add_to_string(char byte) {
  constexpr char kCancel = '\x18';
  constexpr char kSubstitute = '\x1a';
  if (byte == kEsc) {
    state_ = State::kStringEscape;
  } else if (byte == '\n') {
    begin_again(byte);
  } else if (byte == kBell || byte == kCancel || byte == kSubstitute) {
    state_ = State::kText;
  }
}

void TerminalFilter::begin_again(char byte) {
  state_ = State::kText;
  add_text(byte);
}

bool ShownStream::write(std::string_view bytes) {
  if (::isatty(descriptor_) == 0) return write_all(descriptor_, bytes) == bytes.size();
  const std::string shown = filter_.take(bytes);
  return write_all(descriptor_, shown) == shown.size();
}

}  // namespace muster::sys
