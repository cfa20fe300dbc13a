#include "run/log_limit.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/size_text.hpp"
#include "sys/file.hpp"

namespace muster::run {
namespace {

constexpr const char* kDroppedFile = "dropped";
constexpr std::uint64_t kLongestLine = std::uint64_t{2} << 20;

bool free_before(const std::string& path, std::uint64_t begin) {
  const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  constexpr int kHow = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  return file.valid() && ::fallocate(file.get(), kHow, 0, static_cast<off_t>(begin)) == 0;
}

}  // namespace

LogBegins read_log_begins(const std::string& folder) {
  LogBegins begins;
  std::istringstream lines(
      sys::read_file(fmt::format("{}/{}", folder, kDroppedFile)).value_or(std::string()));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.rfind(' ');
    if (blank == std::string::npos) continue;
    std::uint64_t begin = 0;
    const char* const end = line.data() + line.size();
    const auto parsed = std::from_chars(line.data() + blank + 1, end, begin);
    if (parsed.ec == std::errc() && parsed.ptr == end) begins[line.substr(0, blank)] = begin;
  }
  return begins;
}

std::uint64_t log_begin(const std::string& folder, const std::string& file) {
  const LogBegins begins = read_log_begins(folder);
  const auto found = begins.find(file);
  return found == begins.end() ? 0 : found->second;
}

Result<void> LogLimit::check() const {
  if (most_ == 0 || free_before(folder_ + "/order", 1)) return {};
  Error error = system_error(
      "the file system cannot free the beginning of a file, so --log-limit "
      "does not work there",
      folder_);
  error.hint = "leave out --log-limit, or set XDG_STATE_HOME to a directory on a local disk";
  return unexpected(std::move(error));
}

void LogLimit::wrote(const std::string& file, std::uint64_t bytes) {
  if (most_ == 0) return;
  files_[file].end += bytes;
  stored_ += bytes;
  if (stored_ > look_at_) make_room();
}

// Drops the older half of the largest file, again and again, until a quarter of the limit is free.
// So a rank that floods does not empty the files of the others.
void LogLimit::make_room() {
  LogBegins freed;
  while (stored_ > most_ - most_ / 4) {
    const auto largest = std::max_element(
        files_.begin(), files_.end(),
        [](const auto& one, const auto& other) { return one.second.size() < other.second.size(); });
    auto& [name, file] = *largest;
    if (file.size() <= 2 * kLeftOfEach) break;
    const std::uint64_t begin = line_after(name, file.begin + file.size() / 2);
    stored_ -= begin - file.begin;
    file.begin = freed[name] = begin;
  }
  // If all files are small, there may be nothing to drop.
  look_at_ = std::max(most_, stored_ + most_ / 8);
  if (freed.empty() || !note_begins()) return;
  for (const auto& [name, begin] : freed) (void)free_before(folder_ + "/" + name, begin);
}

// The beginning of the first line that begins at or after this position. If lines are very long, or
// the file holds no lines, the position itself.
std::uint64_t LogLimit::line_after(const std::string& file, std::uint64_t at) const {
  const sys::Fd opened(::open((folder_ + "/" + file).c_str(), O_RDONLY | O_CLOEXEC));
  const std::uint64_t last =
      std::min(at + kLongestLine, files_.at(file).end - std::min(kLeftOfEach, files_.at(file).end));
  std::array<char, 65536> part{};
  for (std::uint64_t next = at; next < last;) {
    const ssize_t count = ::pread(opened.get(), part.data(), part.size(), static_cast<off_t>(next));
    if (count <= 0) break;
    const std::string_view bytes(part.data(), static_cast<std::size_t>(count));
    const std::size_t end = bytes.find('\n');
    if (end != std::string_view::npos) return std::min(next + end + 1, std::max(at, last));
    next += bytes.size();
  }
  return at;
}

bool LogLimit::note_begins() const {
  std::string text;
  for (const auto& [name, file] : files_) {
    if (file.begin > 0) text += fmt::format("{} {}\n", name, file.begin);
  }
  return sys::write_file(fmt::format("{}/{}", folder_, kDroppedFile), text, 0600).has_value();
}

std::uint64_t LogLimit::dropped() const {
  std::uint64_t bytes = 0;
  for (const char* const name : {"out", "err"}) {
    const auto found = files_.find(name);
    if (found != files_.end()) bytes += found->second.begin;
  }
  return bytes;
}

std::string dropped_text(std::uint64_t bytes) {
  return fmt::format("the oldest {} ({} bytes) of this run's output were dropped: --log-limit",
                     file_size_text(bytes), bytes);
}

}  // namespace muster::run
