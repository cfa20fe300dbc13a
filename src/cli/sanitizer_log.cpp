// Only in builds with sanitisers. Most processes of muster have no terminal, as they belong to
// ranks or run on hosts. If tests have created the folder MUSTER_SANITIZER_LOGS, sanitisers write
// their reports to files in it.
#include <cstdlib>
#include <memory>

#include <unistd.h>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the sanitisers' name
extern "C"
    __attribute__((used, visibility("default"), no_sanitize("address", "undefined", "coverage")))
    const char*
    __asan_default_options() {
  const bool logged = ::access(MUSTER_SANITIZER_LOGS, W_OK) == 0;
  return logged ? "log_path=" MUSTER_SANITIZER_LOGS "/found" : "";
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

// Provokes a fault if MUSTER_PROVOKE_FAULT is set, so that a test can check that sanitisers report
// it.
[[maybe_unused]] const int provoked = [] {
  if (std::getenv("MUSTER_PROVOKE_FAULT") == nullptr) return 0;
  const std::unique_ptr<volatile int[]> two(new int[2]{});
  return static_cast<int>(two[static_cast<std::size_t>(::getpid() > 0 ? 2 : 0)]);
}();

}  // namespace
