// Turns what the ssh client says when it fails into an Error that says what to do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::remote {

constexpr int kSshFailed = 255;  // ssh ends so when it fails; so may the command

struct SshFailure {
  std::string_view id;    // of the failure catalogue
  std::string_view what;  // one sentence
  std::string_view hint;
};

// The failure that `stderr_text` of an ssh client tells of, if it is one we know.
[[nodiscard]] std::optional<SshFailure> diagnose(std::string_view stderr_text);

// What ssh says of a key that is not the pinned one; empty where it does not say.
struct ChangedKey {
  std::string presented;        // "SHA256:..."
  std::string pinned_file;      // the file that holds the pinned one
  std::size_t pinned_line = 0;  // 1-based
};
[[nodiscard]] ChangedKey changed_key(std::string_view stderr_text);

// The first line of what a program here or on a host said, printable, and no more of it than a
// person reads. rsync and shells say there what happened.
[[nodiscard]] std::string first_words(std::string_view said);

// The Error for a host that ssh (exit code 255) did not reach, or lost.
[[nodiscard]] Error unreachable(const std::string& host, std::string_view stderr_text);

}  // namespace muster::remote
