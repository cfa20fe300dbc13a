// Turns the ssh client's error messages into an Error that says what to do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster::remote {

// The exit code with which ssh reports its own failure. A remote command may exit with it, too.
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

// Returns the first line of a program's error output, in which rsync and shells give the reason.
// Makes it printable and shortens it.
[[nodiscard]] std::string first_words(std::string_view said);

// Returns the Error for a host that ssh could not reach, or to which it lost the connection. In
// both cases, ssh exits with kSshFailed.
[[nodiscard]] Error unreachable(const std::string& host, std::string_view stderr_text);

}  // namespace muster::remote
