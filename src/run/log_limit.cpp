#include "run/log_limit.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/size_text.hpp"

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

bool StoredFile::open() {
  if (!file_.valid()) {
    file_ = sys::Fd(::open((folder_ + "/" + name_).c_str(), O_RDONLY | O_CLOEXEC));
  }
  return file_.valid();
}

ssize_t StoredFile::read(char* to, std::size_t most) {
  if (!open()) return errno == ENOENT ? 0 : -1;
  while (true) {
    const ssize_t count = ::pread(file_.get(), to, most, static_cast<off_t>(at_));
    if (count <= 0) return count;
    const std::uint64_t begin = log_begin(folder_, name_);
    if (begin <= at_) {
      at_ += static_cast<std::uint64_t>(count);
      return count;
    }
    dropped_ += begin - at_;
    at_ = begin;
  }
}

std::uint64_t LogLimit::smallest(int ranks) {
  constexpr std::uint64_t kPerRank = 4 * kWhole;
  return std::max(kSmallest, kPerRank * static_cast<std::uint64_t>(std::max(ranks, 1)));
}

Result<void> LogLimit::check(int ranks) const {
  if (most_ == 0) return {};
  if (const std::uint64_t least = smallest(ranks); most_ < least) {
    const std::uint64_t least_m = least >> 20;
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("--log-limit {} is too small for {} ranks: muster keeps the last "
                                  "lines of each rank, so the smallest limit is {}M",
                                  most_, ranks, least_m),
              .hint = fmt::format("pass --log-limit {}M or more", least_m)});
  }
  if (free_before(folder_ + "/order", 1)) return {};
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
  if (stored_ > look_at_) (void)make_room(most_);
}

// Drops old output until a quarter of `most` is free, and returns how many bytes.
std::uint64_t LogLimit::make_room(std::uint64_t most) {
  const std::uint64_t target = most - most / 4;
  const std::uint64_t before = stored_;
  const LogBegins dropped = stored_ > target ? plan(stored_ - target) : LogBegins();
  if (!dropped.empty() && note(dropped)) {
    for (const auto& [name, begin] : dropped) {
      Stored& file = files_.at(name);
      stored_ -= begin - std::exchange(file.begin, begin);
      (void)free_before(folder_ + "/" + name, begin);
    }
  }
  // If all files are small or `dropped` cannot be written, do not try again for each piece.
  look_at_ = std::max(most_, stored_ + most_ / 4);
  return before - stored_;
}

// Where files must begin so that so many bytes less are stored, as far as files may be shortened.
// The largest file loses its older half, again and again, so that a rank that floods does not empty
// the files of the others.
LogBegins LogLimit::plan(std::uint64_t bytes) const {
  using Candidate = std::pair<std::uint64_t, const std::string*>;  // its size and name
  std::vector<Candidate> largest;
  for (const auto& [name, file] : files_) {
    if (file.size() > kWhole) largest.emplace_back(file.size(), &name);
  }
  std::make_heap(largest.begin(), largest.end());
  LogBegins dropped;
  for (std::uint64_t freed = 0; freed < bytes && !largest.empty();) {
    std::pop_heap(largest.begin(), largest.end());
    auto& [size, name] = largest.back();
    const std::uint64_t end = files_.at(*name).end;
    const std::uint64_t begin = dropped[*name] = line_after(*name, end - size + size / 2);
    freed += size - (end - begin);
    size = end - begin;
    if (size > kWhole) {
      std::push_heap(largest.begin(), largest.end());
    } else {
      largest.pop_back();
    }
  }
  return dropped;
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

bool LogLimit::note(const LogBegins& dropped) const {
  LogBegins begins = dropped;
  for (const auto& [name, file] : files_) {
    if (file.begin > 0) begins.emplace(name, file.begin);
  }
  std::string text;
  for (const auto& [name, begin] : begins) text += fmt::format("{} {}\n", name, begin);
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

std::string dropped_text(std::uint64_t bytes, const std::string& output) {
  return fmt::format("dropped the oldest {} ({} bytes) of {} because of --log-limit",
                     file_size_text(bytes), bytes, output);
}

}  // namespace muster::run
