#include "run/output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "run/last_words.hpp"
#include "run/log_order.hpp"
#include "sys/clock.hpp"
#include "sys/terminal_filter.hpp"

namespace muster::run {
namespace {

constexpr std::chrono::seconds kDoubtLasts{3};

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kMostUnfinished = std::size_t{64} << 20;  // of all ranks together

constexpr std::size_t kManyParts = 100'000;
constexpr std::size_t kMostHeld = 10'000;

constexpr std::size_t kLookAtDiskAfter = std::size_t{256} << 10;
constexpr std::uint64_t kLeftOnDisk = std::uint64_t{256} << 20;

// Whether the disk has less than 5 % or 256 MiB left, whichever is less.
bool is_nearly_full(const std::string& folder) {
  constexpr std::uint64_t kPart = 20;
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) != 0) return false;
  const std::uint64_t left = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::uint64_t size = std::uint64_t{disk.f_blocks} * disk.f_frsize;
  return left < std::min(kLeftOnDisk, size / kPart);
}

// The file's last lines, made printable because a program may write anything.
std::vector<std::string> last_lines(const std::string& path, std::size_t most) {
  constexpr off_t kPart = 16384;
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const off_t size = file.valid() ? ::lseek(file.get(), 0, SEEK_END) : 0;
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kPart)), '\0');
  const ssize_t got =
      ::pread(file.get(), text.data(), text.size(), std::max<off_t>(size - kPart, 0));
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(printable(line));
  }
  if (lines.size() > most)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  return lines;
}

void copy(int from, Screen::Part part, sys::ShownStream& to) {
  std::array<char, 65536> buffer{};
  while (part.bytes > 0) {
    const ssize_t count = ::pread(from, buffer.data(), std::min(part.bytes, buffer.size()),
                                  static_cast<off_t>(part.at));
    if (count <= 0) return;
    part.at += static_cast<std::uint64_t>(count);
    part.bytes -= static_cast<std::size_t>(count);
    (void)to.write({buffer.data(), static_cast<std::size_t>(count)});
  }
}

// Whether a rank that prints this line may be about to end because another has ended.
bool sounds_like_an_end(std::string_view line) {
  return line.starts_with("Traceback (most recent call last):") ||
         line.starts_with("terminate called") || line.starts_with("Fatal Python error") ||
         is_last_line(line) || says_cut_off(line);
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

void Screen::show(const Part& part) {
  {
    const std::lock_guard lock(mutex_);
    Part* const before = part_before(part);
    if (before != nullptr) {
      before->bytes += part.bytes;
    } else {
      parts_.push_back(part);
    }
  }
  changed_.notify_one();
}

std::size_t Screen::waiting() {
  const std::lock_guard lock(mutex_);
  return parts_.size();
}

// The queued part that this one continues. In a very long queue, of a paused terminal, the last two
// are tried: the order between stdout and stderr may change, but memory stays bounded.
Screen::Part* Screen::part_before(const Part& part) {
  const std::size_t look_at = parts_.size() < kManyParts ? 1 : 2;
  for (std::size_t i = 0; i < std::min(look_at, parts_.size()); ++i) {
    Part& one = parts_[parts_.size() - 1 - i];
    if (one.stream == part.stream && one.at + one.bytes == part.at) return &one;
  }
  return nullptr;
}

void Screen::work() {
  sys::ShownStream out(STDOUT_FILENO);
  sys::ShownStream err(STDERR_FILENO);
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closing_ || !parts_.empty(); });
    if (parts_.empty()) return;
    const Part part = parts_.front();
    parts_.pop_front();
    lock.unlock();
    const bool is_out = part.stream == sys::Stream::kOut;
    copy(is_out ? out_file_ : err_file_, part, is_out ? out : err);
  }
}

Result<std::unique_ptr<Output>> Output::open(const std::string& folder, int ranks,
                                             WatchLine watch) {
  std::unique_ptr<Output> output(new Output(folder, ranks, std::move(watch)));
  MUSTER_CHECK(sys::make_folders(folder + "/ranks", 0700));
  output->out_ = open_log(folder + "/out");
  output->err_ = open_log(folder + "/err");
  output->engine_ = open_log(folder + "/engine");
  output->order_ = open_log(folder + "/order");
  if (!output->out_.valid() || !output->err_.valid() || !output->engine_.valid()) {
    return unexpected(system_error("cannot write the run's output", folder));
  }
  if (!output->watch_)
    output->screen_ = std::make_unique<Screen>(output->out_.get(), output->err_.get());
  return output;
}

Output::Output(std::string folder, int ranks, WatchLine watch)
    : folder_(std::move(folder)), ranks_(ranks), watch_(std::move(watch)) {}

Output::~Output() = default;

void Output::show_rest() {
  screen_ = nullptr;
}

// Ranks that print without end must leave room for the run's record, and for other programs.
bool Output::disk_has_room(std::size_t bytes) {
  if (before_look_ < bytes) {
    disk_is_short_ = is_nearly_full(folder_);
    before_look_ = kLookAtDiskAfter + bytes;
  }
  before_look_ -= bytes;
  return !disk_is_short_;
}

std::size_t Output::keep(const sys::Fd& file, std::string_view bytes) {
  if (!disk_has_room(bytes.size())) {
    not_kept_ = "the disk is nearly full, so muster stopped storing output";
    return 0;
  }
  // If the file could not be opened, errno still says why.
  const std::size_t kept = file.valid() ? sys::write_all(file.get(), bytes) : 0;
  if (kept < bytes.size()) not_kept_ = std::strerror(errno);
  return kept;
}

// After a write to the stream's file; see log_order.hpp.
void Output::keep_order(sys::Stream stream) {
  const off_t end = ::lseek((stream == sys::Stream::kOut ? out_ : err_).get(), 0, SEEK_CUR);
  const OrderEntry entry{sys::unix_time(), stream, static_cast<std::uint64_t>(end)};
  if (end > 0) (void)keep(order_, to_line(entry));
}

void Output::show(sys::Stream stream, int rank, std::string_view labelled) {
  if (labelled.empty()) return;
  const bool is_out = stream == sys::Stream::kOut;
  const std::size_t kept = keep(is_out ? out_ : err_, labelled);
  std::uint64_t& written = is_out ? out_bytes_ : err_bytes_;
  const Screen::Part part{.stream = stream, .at = written, .bytes = kept};
  written += kept;
  keep_order(stream);
  if (kept < labelled.size() && screen_) {
    const int fd = is_out ? STDOUT_FILENO : STDERR_FILENO;
    pollfd writable = {fd, POLLOUT, 0};
    // A paused terminal must not stop the thread that keeps the hosts' connections alive.
    if (::poll(&writable, 1, 0) == 1) (void)sys::ShownStream(fd).write(labelled);
    return;
  }
  if (!is_out && (rank_failed_ || doubtful_.contains(rank))) {
    // More than that is stored and not shown.
    if (held_.size() < kMostHeld) {
      held_.push_back({.rank = rank, .part = part, .since = Clock::now()});
    }
  } else {
    show_part(rank, part);
  }
}

void Output::show_part(int rank, const Screen::Part& part) {
  if (!screen_) return;
  if (part.stream == sys::Stream::kErr) shown_last_ = rank;
  screen_->show(part);
}

void Output::a_rank_failed() {
  rank_failed_ = true;
}

void Output::no_rank_failed() {
  rank_failed_ = false;
  show_held(-1);
}

void Output::show_old() {
  while (!rank_failed_ && !held_.empty() && Clock::now() - held_.front().since >= kDoubtLasts) {
    const int rank = held_.front().rank;
    doubtful_.erase(rank);
    for (const Held& one : held_) {
      if (one.rank == rank) show_part(rank, one.part);
    }
    std::erase_if(held_, [rank](const Held& one) { return one.rank == rank; });
  }
}

void Output::show_held(int rank) {
  for (const Held& one : held_) {
    if (rank < 0 || one.rank == rank) show_part(one.rank, one.part);
  }
  held_.clear();
}

bool Output::take(const std::string& host, const agent::Piece& piece) {
  if (piece.rank < 0 || piece.rank >= ranks_) return false;
  Received& received = received_[{host, piece.rank, piece.stream}];
  std::string_view bytes = piece.bytes;
  if (piece.at > received.bytes) {
    not_kept_ =
        fmt::format("{} bytes of output from rank {} were lost with muster's watcher process on {}",
                    piece.at - received.bytes, piece.rank, host);
    received.bytes = piece.at;
  }
  const std::uint64_t known = received.bytes - piece.at;
  if (known >= bytes.size()) return true;
  bytes.remove_prefix(static_cast<std::size_t>(known));
  received.bytes += bytes.size();
  // Opened anew for each piece, so that a thousand ranks do not need two thousand descriptors.
  (void)keep(open_log(rank_file(piece.rank, piece.stream)), bytes);
  const std::string label = fmt::format("[{}:{}] ", host, piece.rank);
  std::string labelled;
  const auto add_line = [&](std::string_view line) {
    if (watch_) watch_(piece.stream, {.rank = piece.rank, .text = line});
    if (piece.stream == sys::Stream::kErr && sounds_like_an_end(line)) doubtful_.insert(piece.rank);
    labelled.append(label).append(line);
  };
  unfinished_ -= received.unfinished.size();
  for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos;
       bytes.remove_prefix(end + 1)) {
    received.unfinished.append(bytes.substr(0, end + 1));
    add_line(received.unfinished);
    received.unfinished.clear();
  }
  received.unfinished.append(bytes);
  const std::size_t room = std::min(kLongestLine, kMostUnfinished - unfinished_);
  if (received.unfinished.size() > room) {
    add_line(received.unfinished + "\n");
    received.unfinished.clear();
  }
  unfinished_ += received.unfinished.size();
  show(piece.stream, piece.rank, labelled);
  return true;
}

void Output::take_engine(sys::Stream stream, std::string_view chunk) {
  (void)keep(engine_, chunk);
  if (!watch_) return;
  engine_unfinished_.append(chunk);
  for (std::size_t end = 0; (end = engine_unfinished_.find('\n')) != std::string::npos;) {
    watch_(stream, {.rank = -1, .text = std::string_view(engine_unfinished_).substr(0, end + 1)});
    engine_unfinished_.erase(0, end + 1);
  }
  if (engine_unfinished_.size() <= kLongestLine) return;
  engine_unfinished_ += '\n';
  watch_(stream, {.rank = -1, .text = engine_unfinished_});
  engine_unfinished_.clear();
}

void Output::remark(const std::string& host, int rank, std::string_view text) {
  show(sys::Stream::kErr, rank, fmt::format("[{}:{}] muster: {}\n", host, rank, text));
}

void Output::finish() {
  for (auto& [key, received] : received_) {
    const auto& [host, rank, stream] = key;
    if (received.unfinished.empty()) continue;
    const std::string line = received.unfinished + "\n";
    received.unfinished.clear();
    if (watch_) watch_(stream, {.rank = rank, .text = line});
    show(stream, rank, fmt::format("[{}:{}] {}", host, rank, line));
  }
}

std::vector<agent::Taken> Output::taken(const std::string& host) const {
  std::map<int, agent::Taken> taken;
  const Key first(host, std::numeric_limits<int>::min(), sys::Stream::kOut);
  for (auto next = received_.lower_bound(first); next != received_.end(); ++next) {
    const auto& [whose, rank, stream] = next->first;
    if (whose != host) break;
    agent::Taken& one = taken.try_emplace(rank, agent::Taken{.rank = rank}).first->second;
    (stream == sys::Stream::kOut ? one.out : one.err) = next->second.bytes;
  }
  std::vector<agent::Taken> list;
  for (const auto& [rank, one] : taken) list.push_back(one);
  return list;
}

std::vector<std::string> Output::last_errors(int rank, std::size_t most) const {
  return last_lines(rank_file(rank, sys::Stream::kErr), most);
}

std::vector<std::string> Output::last_of_engine(std::size_t most) const {
  return last_lines(folder_ + "/engine", most);
}

std::string Output::rank_file(int rank, sys::Stream stream) const {
  return fmt::format("{}/ranks/{}.{}", folder_, rank, stream == sys::Stream::kOut ? "out" : "err");
}

}  // namespace muster::run
