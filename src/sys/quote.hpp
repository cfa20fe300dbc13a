// Quotes words for a POSIX shell.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster::sys {

// Quotes a word so that `sh` reads exactly `word`. Words that are safe stay as they are.
[[nodiscard]] std::string quote(std::string_view word);

// Returns the words, quoted and joined by blanks, as a command line to paste.
[[nodiscard]] std::string quote(std::span<const std::string> words);

}  // namespace muster::sys
