#include "remote/project.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "remote/ignore.hpp"
#include "sys/file.hpp"

namespace muster::remote {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkBeginsWith = ".muster-sync-";
constexpr const char* kIgnoredByDefault = "__pycache__/\n.muster-sync-*\n";

Error cannot_read(const fs::path& path, const std::string& why) {
  return {.code = ErrorCode::kUsage,
          .what = "muster cannot read this and therefore cannot send it: " + why,
          .where = {.file = path.string()},
          .hint = "make the file readable for your user, or list it in .musterignore"};
}

std::vector<std::string> parts_of(const fs::path& relative) {
  std::vector<std::string> parts;
  for (const fs::path& part : relative) {
    if (part != ".") parts.push_back(part.string());
  }
  return parts;
}

// Returns the top folder of the git work tree that contains the folder, or the folder itself if it
// is in none.
fs::path top_of(const fs::path& folder) {
  std::error_code error;
  for (fs::path top = folder;; top = top.parent_path()) {
    if (fs::exists(top / ".git", error)) return top;
    if (top == top.root_path()) return folder;
  }
}

class Walk {
 public:
  explicit Walk(fs::path folder) : folder_(std::move(folder)), top_(top_of(folder_)) {
    by_git_.push_back({.patterns = parse_ignore_file(kIgnoredByDefault)});
  }

  Result<Project> run() {
    fs::path above = top_;
    for (const std::string& part : parts_of(folder_.lexically_relative(top_))) {
      MUSTER_CHECK(read_ignore_file(above / ".gitignore", by_git_));
      above /= part;
    }
    MUSTER_CHECK(read_folder(folder_));
    std::sort(project_.files.begin(), project_.files.end());
    std::sort(project_.others.begin(), project_.others.end());
    return std::move(project_);
  }

 private:
  Result<void> read_ignore_file(const fs::path& path, std::vector<IgnoreFile>& files) const {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return {};
    MUSTER_TRY(const std::string text, sys::read_file(path.string()));
    files.push_back({.depth = parts_of(path.parent_path().lexically_relative(top_)).size(),
                     .patterns = parse_ignore_file(text)});
    return {};
  }

  Result<void> read_folder(const fs::path& folder) {
    const std::size_t git_files = by_git_.size();
    const std::size_t muster_files = by_muster_.size();
    MUSTER_CHECK(read_ignore_file(folder / ".gitignore", by_git_));
    MUSTER_CHECK(read_ignore_file(folder / ".musterignore", by_muster_));
    std::error_code error;
    fs::directory_iterator entry(folder, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      MUSTER_CHECK(read_entry(*entry));
    }
    if (error) return unexpected(cannot_read(folder, error.message()));
    by_git_.resize(git_files);
    by_muster_.resize(muster_files);
    return {};
  }

  [[nodiscard]] bool is_left_out(const fs::path& path, bool is_folder) const {
    const std::vector<std::string> parts = parts_of(path.lexically_relative(top_));
    if (parts.back() == ".git") return true;
    const Ignored by_muster = is_ignored(parts, is_folder, by_muster_);
    if (by_muster != Ignored::kNotSaid) return by_muster == Ignored::kYes;
    return is_ignored(parts, is_folder, by_git_) == Ignored::kYes;
  }

  // Adds a file, a link or a folder with its contents. Leaves out sockets, pipes and devices.
  Result<void> read_entry(const fs::directory_entry& entry) {
    std::error_code error;
    const fs::file_status status = entry.symlink_status(error);
    const bool is_folder = fs::is_directory(status);
    const bool is_file = fs::is_regular_file(status);
    if (!is_folder && !is_file && !fs::is_symlink(status)) return {};
    if (is_left_out(entry.path(), is_folder)) return {};
    const std::string path = entry.path().lexically_relative(folder_).string();
    const std::size_t before = count();
    if (is_folder) MUSTER_CHECK(read_folder(entry.path()));
    if (!is_file) {
      if (count() == before) project_.others.push_back(path);
      return {};
    }
    if (::access(entry.path().c_str(), R_OK) != 0) {
      return unexpected(cannot_read(entry.path(), "permission denied"));
    }
    project_.files.push_back(path);
    const auto bytes = entry.file_size(error);
    if (!error) project_.bytes += bytes;
    return {};
  }

  [[nodiscard]] std::size_t count() const { return project_.files.size() + project_.others.size(); }

  fs::path folder_;
  fs::path top_;
  std::vector<IgnoreFile> by_git_;
  std::vector<IgnoreFile> by_muster_;
  Project project_;
};

// Removes the marks that an interrupted run left behind.
void remove_old_marks(const std::string& folder) {
  std::error_code error;
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code none;
    const bool is_mark = entry->path().filename().string().starts_with(kMarkBeginsWith) &&
                         entry->is_regular_file(none) && entry->file_size(none) == 0;
    if (is_mark && entry->last_write_time(none) < old && !none) fs::remove(entry->path(), none);
  }
}

bool contains(const fs::path& folder, const fs::path& other) {
  const fs::path relative = other.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

}  // namespace

Result<Project> read_project(const std::string& folder) {
  std::error_code error;
  const fs::path path = fs::canonical(folder, error);
  if (error) return unexpected(cannot_read(folder, error.message()));
  const fs::path home = fs::weakly_canonical(sys::home_folder(), error);
  if (path == path.root_path() || contains(path, home)) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = "--sync would send everything below " + path.string(),
        .hint = "move the project into a directory of its own, and start the job from there"});
  }
  MUSTER_TRY(Project project, Walk(path).run());
  if (project.files.empty()) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "--sync finds no files to send in " + path.string(),
                            .hint = "perhaps a .gitignore or .musterignore in this directory, or a "
                                    ".gitignore above it, excludes everything"});
  }
  return project;
}

SharedMark::SharedMark(const std::string& folder)
    : path_(fmt::format("{}/{}XXXXXX", folder, kMarkBeginsWith)) {
  remove_old_marks(folder);
  const int descriptor = ::mkstemp(path_.data());
  if (descriptor < 0) {
    path_.clear();
  } else {
    (void)::close(descriptor);
  }
}

SharedMark::~SharedMark() {
  remove();
}

void SharedMark::remove() {
  if (!path_.empty()) (void)::unlink(path_.c_str());
  path_.clear();
}

}  // namespace muster::remote
