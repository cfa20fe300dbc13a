#include "run/removal.hpp"

#include <algorithm>
#include <filesystem>

#include <sys/stat.h>

#include "run/folder.hpp"
#include "run/log_limit.hpp"
#include "sys/file.hpp"

namespace muster::run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBeingRemoved = ".removed-";

std::vector<std::string> attempt_folders(const std::string& base) {
  std::vector<std::string> folders;
  for (int i = 0, latest = latest_attempt(base); i <= latest; ++i) {
    const std::string folder = runs_folder() + "/" + attempt_id(base, i);
    if (sys::exists(folder)) folders.push_back(folder);
  }
  return folders;
}

}  // namespace

std::vector<StoredRun> to_remove(const std::vector<StoredRun>& newest_first, const Removal& rules) {
  std::uint64_t left = 0;
  for (const StoredRun& run : newest_first) left += run.bytes;
  std::vector<StoredRun> chosen;
  const auto choose = [&](const StoredRun& run) {
    left -= run.bytes;
    chosen.push_back(run);
  };
  std::vector<StoredRun> others;
  for (auto run = newest_first.rbegin(); run != newest_first.rend(); ++run) {
    if (run->in_use) continue;
    const bool is_old = rules.before_s && run->last_s < *rules.before_s;
    is_old || rules.named.contains(run->base) ? choose(*run) : others.push_back(*run);
  }
  for (const StoredRun& run : others) {
    if (rules.max_bytes && left > *rules.max_bytes) choose(run);
  }
  return chosen;
}

std::uint64_t stored_bytes(const std::string& base) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const std::string& folder : attempt_folders(base)) {
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator entry(folder, options, error), end; entry != end;
         entry.increment(error)) {
      struct stat status = {};
      const bool is_file = ::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode);
      if (is_file) bytes += static_cast<std::uint64_t>(status.st_size);
    }
    for (const auto& [name, begin] : read_log_begins(folder)) bytes -= std::min(bytes, begin);
  }
  return bytes;
}

double changed_s(const std::string& base) {
  double latest = 0;
  for (const std::string& folder : attempt_folders(base)) {
    struct stat status = {};
    if (::stat(folder.c_str(), &status) != 0) continue;
    latest = std::max(latest, static_cast<double>(status.st_mtim.tv_sec));
  }
  return latest;
}

// Renames each folder first, so that an interrupted removal does not leave half a run in the list.
Result<void> remove_run(const std::string& base) {
  std::vector<std::string> folders = attempt_folders(base);
  // The first attempt last, because it holds the command.
  std::reverse(folders.begin(), folders.end());
  for (const std::string& folder : folders) {
    std::error_code error;
    const std::string gone = runs_folder() + "/" + kBeingRemoved + id_of(folder);
    fs::rename(folder, gone, error);
    if (!error) fs::remove_all(gone, error);
    if (!error) continue;
    return unexpected(
        Error{.what = "cannot remove the run: " + error.message(), .where = {.file = folder}});
  }
  return {};
}

void clear_removed() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(runs_folder(), error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(kBeingRemoved)) fs::remove_all(entry.path(), error);
  }
}

}  // namespace muster::run
