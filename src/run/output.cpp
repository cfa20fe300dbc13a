#include "run/output.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace muster::run {
namespace {

constexpr std::size_t kBuffered = std::size_t{64} << 10;  // of a rank, before it is written
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

// Ends early only when the other side is gone for good; then nothing more can be done.
bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {  // somebody made our terminal non-blocking
      pollfd writable = {descriptor, POLLOUT, 0};
      (void)::poll(&writable, 1, -1);
      continue;
    }
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

sys::Fd open_log(const std::string& path) {
  return sys::Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
}

}  // namespace

Screen::Screen(int out_file, int err_file)
    : out_file_(out_file), err_file_(err_file), thread_([this] { work(); }) {}

Screen::~Screen() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Screen::grown(sys::Stream stream, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (!pieces_.empty() && pieces_.back().stream == stream) {
      pieces_.back().bytes += bytes;
    } else {
      pieces_.push_back({stream, bytes});
    }
  }
  changed_.notify_one();
}

void Screen::work() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || !pieces_.empty(); });
    if (pieces_.empty()) return;
    const Piece piece = pieces_.front();
    pieces_.pop_front();
    lock.unlock();
    const bool is_out = piece.stream == sys::Stream::kOut;
    copy(is_out ? out_file_ : err_file_, is_out ? out_at_ : err_at_, piece.bytes,
         is_out ? STDOUT_FILENO : STDERR_FILENO);
  }
}

void Screen::copy(int from, std::uint64_t& offset, std::size_t bytes, int to) {
  std::array<char, 65536> buffer{};
  while (bytes > 0) {
    const ssize_t count =
        ::pread(from, buffer.data(), std::min(bytes, buffer.size()), static_cast<off_t>(offset));
    if (count <= 0) return;
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::size_t>(count);
    (void)write_all(to, {buffer.data(), static_cast<std::size_t>(count)});
  }
}

Demultiplexer::Line Demultiplexer::parse(std::string_view line) const {
  const Line not_labelled{.rank = -1, .text = line};
  if (line.empty() || line.front() != '[') return not_labelled;
  const std::size_t end = line.find("] ");
  if (end == std::string_view::npos) return not_labelled;
  const std::string_view label = line.substr(1, end - 1);
  const std::size_t colon = label.rfind(':');
  if (colon == std::string_view::npos) return not_labelled;
  // Open MPI begins its own lines with "[host:pid] ", the pid in five digits, and often all zero.
  if (label.size() > colon + 2 && label[colon + 1] == '0') return not_labelled;
  int rank = -1;
  const char* last = label.data() + label.size();
  const auto [stop, bad] = std::from_chars(label.data() + colon + 1, last, rank);
  if (bad != std::errc() || stop != last || rank < 0) return not_labelled;
  if (rank >= ranks_ || !hosts_.contains(label.substr(0, colon))) return not_labelled;
  return {.rank = rank, .text = line.substr(end + 2)};
}

Result<std::unique_ptr<Output>> Output::open(const std::string& folder,
                                             std::set<std::string, std::less<>> hosts, int ranks,
                                             WatchLine watch) {
  std::unique_ptr<Output> output(
      new Output(folder, Demultiplexer(std::move(hosts), ranks), std::move(watch)));
  MUSTER_CHECK(sys::make_folders(folder + "/ranks", 0700));
  output->out_ = open_log(folder + "/out");
  output->err_ = open_log(folder + "/err");
  if (!output->out_.valid() || !output->err_.valid()) {
    return unexpected(system_error("cannot write the run's output", folder));
  }
  if (!output->watch_)
    output->screen_ = std::make_unique<Screen>(output->out_.get(), output->err_.get());
  return output;
}

Output::Output(std::string folder, Demultiplexer demultiplexer, WatchLine watch)
    : folder_(std::move(folder)),
      demultiplexer_(std::move(demultiplexer)),
      watch_(std::move(watch)) {}

Output::~Output() = default;

void Output::show_rest() {
  screen_ = nullptr;
}

bool Output::keep(int descriptor, std::string_view bytes) {
  const bool kept = write_all(descriptor, bytes);
  if (!kept) not_kept_ = std::strerror(errno);
  return kept;
}

void Output::take(sys::Stream stream, std::string_view chunk) {
  const bool is_out = stream == sys::Stream::kOut;
  const bool kept = keep(is_out ? out_.get() : err_.get(), chunk);
  if (screen_ && kept) screen_->grown(stream, chunk.size());
  if (screen_ && !kept) (void)write_all(is_out ? STDOUT_FILENO : STDERR_FILENO, chunk);
  std::string& unfinished = is_out ? unfinished_out_ : unfinished_err_;
  for (std::size_t end = 0; (end = chunk.find('\n')) != std::string_view::npos;
       chunk.remove_prefix(end + 1)) {
    if (unfinished.empty()) {
      take_line(stream, chunk.substr(0, end + 1));
    } else {
      unfinished.append(chunk.substr(0, end + 1));
      take_line(stream, unfinished);
      unfinished.clear();
    }
  }
  unfinished.append(chunk);
  if (unfinished.size() > kLongestLine) {
    take_line(stream, unfinished);
    unfinished.clear();
  }
}

void Output::take_line(sys::Stream stream, std::string_view line) {
  const Demultiplexer::Line parsed = demultiplexer_.parse(line);
  if (watch_) watch_(stream, parsed);
  if (parsed.rank < 0) {
    if (stream == sys::Stream::kErr) engine_errors_.append(line);
    if (engine_errors_.size() > 2 * kBuffered) engine_errors_.erase(0, kBuffered);
    return;
  }
  RankFile& file = (stream == sys::Stream::kOut ? rank_out_ : rank_err_)[parsed.rank];
  file.unwritten.append(parsed.text);
  file.bytes += parsed.text.size();
  if (file.unwritten.size() >= kBuffered) write_out(parsed.rank, stream, file);
}

// Opened for each write: a thousand ranks must not need two thousand descriptors.
void Output::write_out(int rank, sys::Stream stream, RankFile& file) {
  const sys::Fd log = open_log(rank_file(rank, stream));
  (void)keep(log.get(), file.unwritten);
  file.unwritten.clear();
}

void Output::finish() {
  for (const sys::Stream stream : {sys::Stream::kOut, sys::Stream::kErr}) {
    const bool is_out = stream == sys::Stream::kOut;
    std::string& unfinished = is_out ? unfinished_out_ : unfinished_err_;
    if (!unfinished.empty()) take_line(stream, unfinished);
    unfinished.clear();
    for (auto& [rank, file] : is_out ? rank_out_ : rank_err_) {
      if (!file.unwritten.empty()) write_out(rank, stream, file);
    }
  }
}

std::uint64_t Output::bytes(int rank, sys::Stream stream) const {
  const auto& files = stream == sys::Stream::kOut ? rank_out_ : rank_err_;
  const auto found = files.find(rank);
  return found == files.end() ? 0 : found->second.bytes;
}

std::string Output::rank_file(int rank, sys::Stream stream) const {
  return fmt::format("{}/ranks/{}.{}", folder_, rank, stream == sys::Stream::kOut ? "out" : "err");
}

void Output::drop_added_newline(int rank, sys::Stream stream) {
  auto& files = stream == sys::Stream::kOut ? rank_out_ : rank_err_;
  if (files[rank].bytes == 0 || !not_kept_.empty()) return;
  --files[rank].bytes;
  (void)::truncate(rank_file(rank, stream).c_str(), static_cast<off_t>(files[rank].bytes));
}

}  // namespace muster::run
