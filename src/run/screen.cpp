#include "run/screen.hpp"

#include <algorithm>
#include <cstdlib>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "run/bars.hpp"

namespace muster::run {
namespace {

constexpr std::size_t kManyParts = 100'000;
constexpr std::size_t kMostInMemory = std::size_t{8} << 20;
constexpr std::size_t kLargestPart = std::size_t{64} << 10;
constexpr std::chrono::milliseconds kBetweenDrawings{50};
constexpr std::string_view kErase = "\r\x1b[K";
constexpr std::string_view kPlain = "\x1b[0m";

int descriptor_of(sys::Stream stream) {
  return stream == sys::Stream::kOut ? STDOUT_FILENO : STDERR_FILENO;
}

std::size_t columns_on(int terminal) {
  constexpr std::size_t kUsual = 80;
  winsize size = {};
  const bool is_known = ::ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kUsual;
}

sys::Fd open_nameless(const std::string& folder) {
  sys::Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.valid()) return file;
  std::string name = folder + "/waiting-XXXXXX";  // NFS has no unnamed temporary files
  file = sys::Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (file.valid()) (void)::unlink(name.c_str());
  return file;
}

}  // namespace

Screen::Screen(std::string folder)
    : folder_(std::move(folder)),
      room_(folder_),
      out_(STDOUT_FILENO),
      err_(STDERR_FILENO),
      thread_([this] { work(); }) {}

Screen::~Screen() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Screen::Stored& Screen::stored(sys::Stream stream) {
  return stored_.at(stream == sys::Stream::kOut ? 0 : 1);
}

sys::ShownStream& Screen::shown(sys::Stream stream) {
  return stream == sys::Stream::kOut ? out_ : err_;
}

void Screen::show(sys::Stream stream, std::string_view lines) {
  if (lines.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    const bool is_behind = stored_[0].parts + stored_[1].parts > 0;
    if (is_behind || in_memory_ + lines.size() > kMostInMemory || parts_.size() >= kManyParts) {
      keep_in_file(stream, lines);
    } else {
      keep_in_memory(stream, lines);
    }
  }
  changed_.notify_one();
}

void Screen::keep_in_memory(sys::Stream stream, std::string_view lines) {
  in_memory_ += lines.size();
  const bool continues = !parts_.empty() && parts_.back().stream == stream &&
                         parts_.back().text.size() + lines.size() <= kLargestPart;
  if (continues) {
    parts_.back().text.append(lines);
  } else {
    parts_.push_back({.stream = stream, .text = std::string(lines)});
  }
}

// Extends the last part if that ends where the text begins in the file. When the queue is very
// long, also tries the part before it. This may change the order between stdout and stderr but
// keeps memory bounded. Lines for which the disk has no room are not shown; the ranks' output is
// also stored separately.
void Screen::keep_in_file(sys::Stream stream, std::string_view lines) {
  Stored& to = stored(stream);
  if (!to.file.valid()) to.file = open_nameless(folder_);
  if (!to.file.valid() || !room_.has(lines.size())) return;
  const std::size_t bytes = sys::write_all(to.file.get(), lines);
  if (bytes == 0) return;
  const std::uint64_t at = to.end;
  to.end += bytes;
  const std::size_t look_at = parts_.size() < kManyParts ? 1 : 2;
  for (std::size_t i = 0; i < std::min(look_at, parts_.size()); ++i) {
    Part& one = parts_[parts_.size() - 1 - i];
    if (one.stream != stream || one.bytes == 0 || one.at + one.bytes != at) continue;
    one.bytes += bytes;
    return;
  }
  parts_.push_back({.stream = stream, .at = at, .bytes = bytes});
  ++to.parts;
}

void Screen::set_live(sys::Stream stream, std::string line) {
  {
    const std::lock_guard lock(mutex_);
    if (line == live_ && stream == live_stream_) return;
    if (live_.empty()) live_since_ = Clock::now();
    live_ = std::move(line);
    live_stream_ = stream;
    live_changed_ = true;
  }
  changed_.notify_one();
}

std::size_t Screen::waiting() {
  const std::lock_guard lock(mutex_);
  return parts_.size();
}

void Screen::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!parts_.empty()) {
      const Part part = std::move(parts_.front());
      parts_.pop_front();
      in_memory_ -= part.text.size();
      live_changed_ = true;  // redraw it below the lines
      lock.unlock();
      write(part);
      lock.lock();
      forget_stored(part);
    } else if (closing_) {
      return erase();
    } else if (!live_changed_) {
      changed_.wait(lock);
    } else if (const auto next = next_drawing(); Clock::now() < next) {
      changed_.wait_until(lock, next);
    } else {
      live_changed_ = false;
      const sys::Stream stream = live_stream_;
      const std::string line = live_;
      lock.unlock();
      draw(stream, line);
      lock.lock();
    }
  }
}

// When to draw the line. It is delayed a little, so that a line that arrives in two parts is drawn
// only once.
Screen::Clock::time_point Screen::next_drawing() const {
  return std::max(drawn_, live_since_) + kBetweenDrawings;
}

void Screen::write(const Part& part) {
  if (drawn_on_ >= 0 && ::isatty(descriptor_of(part.stream)) != 0) erase();
  if (part.bytes > 0) return write_stored(part);
  (void)shown(part.stream).write(part.text);
}

void Screen::write_stored(const Part& part) {
  std::array<char, kLargestPart> buffer{};
  const int file = stored(part.stream).file.get();
  for (std::size_t done = 0; done < part.bytes;) {
    const ssize_t count = ::pread(file, buffer.data(), std::min(part.bytes - done, buffer.size()),
                                  static_cast<off_t>(part.at + done));
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
    (void)shown(part.stream).write({buffer.data(), static_cast<std::size_t>(count)});
  }
}

// When everything in the file has been written, closes the file, which frees its space.
void Screen::forget_stored(const Part& part) {
  if (part.bytes == 0) return;
  Stored& from = stored(part.stream);
  if (--from.parts > 0) return;
  from = Stored{};
}

void Screen::erase() {
  if (drawn_on_ < 0) return;
  (void)sys::write_all(drawn_on_, kErase);
  drawn_on_ = -1;
}

// A line as wide as the terminal would wrap, so it is cut one column shorter.
void Screen::draw(sys::Stream stream, const std::string& line) {
  drawn_ = Clock::now();
  const int terminal = descriptor_of(stream);
  if (line.empty() || ::isatty(terminal) == 0) return erase();
  if (drawn_on_ >= 0 && drawn_on_ != terminal) erase();
  std::string text(kErase);
  text.append(fitted(line, columns_on(terminal) - 1)).append(kPlain);
  (void)sys::write_all(terminal, text);
  drawn_on_ = terminal;
}

}  // namespace muster::run
