// Words for a POSIX shell on the other side.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster::sys {

// One word that `sh` reads back as exactly `word`; left bare where that is safe.
[[nodiscard]] std::string quote(std::string_view word);

// The words quoted and joined by blanks: a command line to paste.
[[nodiscard]] std::string quote(std::span<const std::string> words);

}  // namespace muster::sys
