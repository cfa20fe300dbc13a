#include "sys/tree.hpp"

#include <filesystem>
#include <system_error>

#include <unistd.h>

namespace muster::sys {
namespace {

namespace fs = std::filesystem;

bool readable(const fs::directory_entry& entry) {
  std::error_code ignored;
  const fs::file_status status = entry.symlink_status(ignored);
  if (fs::is_directory(status)) return ::access(entry.path().c_str(), R_OK | X_OK) == 0;
  return !fs::is_regular_file(status) || ::access(entry.path().c_str(), R_OK) == 0;
}

Error failed(const std::error_code& code, const std::string& folder) {
  return {.code = code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory
                      ? ErrorCode::kUsage
                      : ErrorCode::kSystem,
          .what = "cannot read the directory: " + code.message(),
          .where = {.file = folder}};
}

}  // namespace

Result<std::vector<std::string>> unreadable_below(const std::string& folder) {
  std::vector<std::string> unreadable;
  std::error_code code;
  // The top is opened without skip_permission_denied: if it cannot be read, that is an error, not
  // an empty folder.
  fs::directory_iterator top(folder, code);
  if (code) return unexpected(failed(code, folder));
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    if (!readable(*entry)) unreadable.push_back(entry->path().string());
  }
  if (code) return unexpected(failed(code, folder));
  return unreadable;
}

}  // namespace muster::sys
