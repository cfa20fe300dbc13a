// Turns the ssh client's error messages into an Error that says what to do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::remote {

// ssh's exit code when it fails itself; a remote command may use it too.
constexpr int kSshFailed = 255;

struct SshFailure {
  std::string_view id;    // in the failure catalogue
  std::string_view what;  // one sentence
  std::string_view hint;
};

// The known failure that an ssh client reports in `stderr_text`, if any.
[[nodiscard]] std::optional<SshFailure> diagnose(std::string_view stderr_text);

// What ssh reports about a host key that differs from the pinned one. Fields are empty where ssh
// reports nothing.
struct ChangedKey {
  std::string presented;        // fingerprint, "SHA256:..."
  std::string pinned_file;      // the file with the pinned key
  std::size_t pinned_line = 0;  // 1-based
};
[[nodiscard]] ChangedKey changed_key(std::string_view stderr_text);

// The first line of a program's error output, made printable and shortened. rsync and shells give
// the reason there.
[[nodiscard]] std::string first_words(std::string_view said);

// The Error for a host that ssh (exit code 255) could not reach or lost.
[[nodiscard]] Error unreachable(const std::string& host, std::string_view stderr_text);

}  // namespace muster::remote
