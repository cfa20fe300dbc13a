#include "run/log_order.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace muster::run {
namespace {

constexpr std::string_view kOutWord = "out";
constexpr std::string_view kErrWord = "err";

template <class T>
bool read_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

bool was_written_since(const std::string& path, double unix_s) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 &&
         static_cast<double>(status.st_mtim.tv_sec + 1) >= unix_s;
}

}  // namespace

std::string to_line(const OrderEntry& entry) {
  return fmt::format("{:.3f} {} {}\n", entry.unix_s,
                     entry.stream == sys::Stream::kOut ? kOutWord : kErrWord, entry.end);
}

std::optional<OrderEntry> parse_order_entry(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = line.rfind(' ');
  if (first == std::string_view::npos || first == second) return std::nullopt;
  OrderEntry entry;
  const std::string_view stream = line.substr(first + 1, second - first - 1);
  if (!read_number(line.substr(0, first), entry.unix_s)) return std::nullopt;
  if (!read_number(line.substr(second + 1), entry.end)) return std::nullopt;
  if (stream != kOutWord && stream != kErrWord) return std::nullopt;
  entry.stream = stream == kOutWord ? sys::Stream::kOut : sys::Stream::kErr;
  return entry;
}

StoredLog::StoredLog(const std::string& folder, double since_s)
    : folder_(folder),
      since_s_(since_s),
      out_{.stored = {folder, "out"}, .stream = sys::Stream::kOut},
      err_{.stored = {folder, "err"}, .stream = sys::Stream::kErr},
      order_(folder, "order") {}

// Reads up to `most` bytes of the file into part_.
std::size_t StoredLog::read_part(StoredFile& file, std::size_t most) {
  return static_cast<std::size_t>(
      std::max<ssize_t>(file.read(part_.data(), std::min(most, part_.size())), 0));
}

// Reads the next part of the file `order`. Returns false if there is nothing new.
bool StoredLog::read_entries() {
  const std::uint64_t before = order_.dropped();
  const std::size_t count = read_part(order_, part_.size());
  if (order_.dropped() != before) entries_.clear();  // entries in between were dropped
  entries_.append(part_.data(), count);
  return count > 0;
}

void StoredLog::read_new(const Take& take) {
  while (read_entries()) {
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = entries_.find('\n', begin)) != std::string::npos;) {
      const auto entry = parse_order_entry(std::string_view(entries_).substr(begin, end - begin));
      begin = end + 1;
      if (entry && !follow(*entry, take)) return;
    }
    entries_.erase(0, begin);
    if (pending_ != nullptr && !read_wanted(*pending_, take)) return;
  }
}

// Notes what the entry covers. Reads bytes only when the stream changes, so that consecutive
// entries of one stream are read together.
bool StoredLog::follow(const OrderEntry& entry, const Take& take) {
  File& file = entry.stream == sys::Stream::kOut ? out_ : err_;
  // Once one entry is new enough, all later ones count, even if the clock was set back.
  if (entry.unix_s < since_s_ && pending_ == nullptr) {
    file.wanted = std::max(file.wanted, entry.end);
    file.stored.move_to(file.wanted);
    return true;
  }
  if (pending_ != nullptr && pending_ != &file && !read_wanted(*pending_, take)) return false;
  file.wanted = std::max(file.wanted, entry.end);
  pending_ = &file;
  return true;
}

bool StoredLog::read_wanted(File& file, const Take& take) {
  while (file.stored.position() < file.wanted) {
    const std::uint64_t most =
        std::min<std::uint64_t>(part_.size(), file.wanted - file.stored.position());
    const std::size_t count = read_part(file.stored, static_cast<std::size_t>(most));
    if (count == 0) return true;
    if (const std::uint64_t begin = file.stored.position() - count; begin >= file.wanted) {
      file.stored.move_to(begin);  // all that was wanted was dropped
      return true;
    }
    // Bytes were dropped in the middle of a line.
    const bool is_cut = file.gaps != file.stored.dropped() && file.last != '\n';
    file.gaps = file.stored.dropped();
    file.last = part_[count - 1];
    if (is_cut && !take(file.stream, "\n")) return false;
    if (!take(file.stream, {part_.data(), count})) return false;
  }
  return true;
}

void StoredLog::read_rest(const Take& take) {
  for (File* const file : {&out_, &err_}) {
    if (!was_written_since(
            fmt::format("{}/{}", folder_, file->stream == sys::Stream::kOut ? kOutWord : kErrWord),
            since_s_))
      continue;
    file->wanted = std::numeric_limits<std::uint64_t>::max();
    if (!read_wanted(*file, take)) return;
  }
}

}  // namespace muster::run
