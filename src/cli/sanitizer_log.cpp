// Only in builds with sanitisers. Most of muster's processes have no terminal: those of ranks and
// on hosts. If tests have made the folder MUSTER_SANITIZER_LOGS, a sanitiser leaves what it finds
// in files there.
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

// So that a test can see that a fault would be noticed.
[[maybe_unused]] const int provoked = [] {
  if (std::getenv("MUSTER_PROVOKE_FAULT") == nullptr) return 0;
  const std::unique_ptr<volatile int[]> two(new int[2]{});
  return static_cast<int>(two[static_cast<std::size_t>(::getpid() > 0 ? 2 : 0)]);
}();

}  // namespace
