#include "run/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/output_line.hpp"
#include "base/printable.hpp"
#include "run/last_words.hpp"
#include "run/log_order.hpp"
#include "sys/clock.hpp"
#include "sys/print.hpp"

namespace muster::run {
namespace {

constexpr std::chrono::seconds kDoubtLasts{3};

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kMostUnfinished = std::size_t{64} << 20;  // bytes, for all ranks together

constexpr std::size_t kMostHeld = 10'000;
constexpr std::size_t kMostRevealed = 100;  // lines shown of a failed rank whose output was hidden
constexpr std::size_t kMostBytesHeld = std::size_t{16} << 20;

// The last lines of the file, made printable because a program may write anything. For a progress
// bar, only its last drawing.
std::vector<std::string> last_lines(const std::string& path, std::size_t most) {
  constexpr off_t kPart = 16384;
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const off_t size = file.valid() ? ::lseek(file.get(), 0, SEEK_END) : 0;
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(size, 0, kPart)), '\0');
  const ssize_t got =
      ::pread(file.get(), text.data(), text.size(), std::max<off_t>(size - kPart, 0));
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  if (size > kPart) text.erase(0, text.find('\n') + 1);  // drop the partial first line
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::string_view drawn = last_drawn(line);
    if (!drawn.empty()) lines.push_back(printable(drawn));
  }
  if (lines.size() > most)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  return lines;
}

// Whether a rank that prints this line may be about to end because another rank has ended.
bool sounds_like_an_end(std::string_view line) {
  return line.starts_with("Traceback (most recent call last):") ||
         line.starts_with("terminate called") || line.starts_with("Fatal Python error") ||
         is_last_line(line) || says_cut_off(line);
}

// Whether an unfinished line is a progress bar whose last drawing is the smaller part of the line.
bool is_drawn_often(std::string_view line) {
  const std::size_t last = line.rfind('\r');
  return last != std::string_view::npos && last > line.size() / 2;
}

sys::Fd open_log(const std::string& path) {
  return sys::Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
}

}  // namespace

Result<std::unique_ptr<Output>> Output::open(const std::string& folder, int ranks,
                                             Audience audience, std::uint64_t most_stored) {
  std::unique_ptr<Output> output(new Output(folder, ranks, std::move(audience), most_stored));
  MUSTER_CHECK(sys::make_folders(folder + "/ranks", 0700));
  output->out_ = open_log(folder + "/out");
  output->err_ = open_log(folder + "/err");
  output->engine_ = open_log(output->engine_file());
  output->order_ = open_log(folder + "/order");
  if (!output->out_.valid() || !output->err_.valid() || !output->engine_.valid() ||
      !output->order_.valid()) {
    return unexpected(system_error("cannot write the run's output", folder));
  }
  MUSTER_CHECK(output->limit_.check(ranks));
  if (!output->audience_.watch)
    output->display_ = std::make_unique<Display>(folder, ranks, output->audience_.show);
  return output;
}

Output::Output(std::string folder, int ranks, Audience audience, std::uint64_t most_stored)
    : folder_(std::move(folder)),
      ranks_(ranks),
      audience_(std::move(audience)),
      room_(folder_),
      limit_(folder_, most_stored) {}

Output::~Output() = default;

void Output::show_rest() {
  if (display_) display_->show_all();
  display_ = nullptr;
}

void Output::show_due() {
  if (display_) display_->show_due();
}

void Output::keep(const sys::Fd& file, const std::string& name, std::string_view bytes) {
  if (!room_.has(bytes.size(), [this] { return limit_.free_some(); })) {
    not_kept_ = "the disk is nearly full, so muster stopped storing output";
    return;
  }
  // If the file could not be opened, errno still has the reason.
  const std::size_t kept = file.valid() ? sys::write_all(file.get(), bytes) : 0;
  if (kept < bytes.size()) not_kept_ = std::strerror(errno);
  limit_.wrote(name, kept);
}

// Call this after each write to the stream's file; see log_order.hpp.
void Output::keep_order(sys::Stream stream) {
  const off_t end = ::lseek((stream == sys::Stream::kOut ? out_ : err_).get(), 0, SEEK_CUR);
  const OrderEntry entry{sys::unix_time(), stream, static_cast<std::uint64_t>(end)};
  if (end > 0) keep(order_, "order", to_line(entry));
}

bool Output::is_held(sys::Stream stream, int rank) const {
  return stream == sys::Stream::kErr && (rank_failed_ || doubtful_.contains(rank));
}

// Stores whole lines with their label.
void Output::store(sys::Stream stream, const Source& from, std::string_view lines) {
  const bool is_out = stream == sys::Stream::kOut;
  keep(is_out ? out_ : err_, is_out ? "out" : "err", labelled(label_of({from}), lines));
  keep_order(stream);
}

// Stores whole lines, and shows them now or later.
void Output::show(sys::Stream stream, const Source& from, std::string_view lines) {
  if (lines.empty()) return;
  store(stream, from, lines);
  if (!is_held(stream, from.rank)) return show_now(stream, from, lines);
  // Beyond these limits, lines are stored but never shown.
  if (held_.size() >= kMostHeld || held_bytes_ + lines.size() > kMostBytesHeld) return;
  held_bytes_ += lines.size();
  held_.push_back({.from = from, .lines = std::string(lines), .since = Clock::now()});
}

void Output::show_now(sys::Stream stream, const Source& from, std::string_view lines) {
  if (display_) display_->show(stream, from, lines);
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
    const int rank = held_.front().from.rank;
    doubtful_.erase(rank);
    const auto is_its = [rank](const Held& one) { return one.from.rank == rank; };
    for (const Held& one : held_) {
      if (!is_its(one)) continue;
      show_now(sys::Stream::kErr, one.from, one.lines);
      held_bytes_ -= one.lines.size();
    }
    std::erase_if(held_, is_its);
  }
}

void Output::show_held(int rank) {
  const auto held = std::exchange(held_, {});
  held_bytes_ = 0;
  if (!display_) return;
  display_->show_all();
  if (rank >= 0 && !display_->shows(rank)) return reveal(rank);
  std::vector<SourceLines> ending;
  for (const Held& one : held) {
    if (rank < 0) show_now(sys::Stream::kErr, one.from, one.lines);
    if (one.from.rank == rank) ending.push_back({one.from, one.lines});
  }
  if (rank >= 0) display_->show_ending(ending);
  display_->show_all();
}

std::set<int> Output::held_ranks() const {
  std::set<int> ranks;
  for (const Held& one : held_) ranks.insert(one.from.rank);
  return ranks;
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
  // The file is opened for each piece, because a thousand ranks would otherwise need two thousand
  // descriptors.
  const std::string file = rank_file(piece.rank, piece.stream);
  keep(open_log(folder_ + "/" + file), file, bytes);
  const Source from{.rank = piece.rank, .host = host};
  std::string lines;
  const auto add_line = [&](std::string_view line) {
    if (audience_.watch) audience_.watch(piece.stream, {.rank = piece.rank, .text = line});
    if (piece.stream == sys::Stream::kErr && sounds_like_an_end(line)) doubtful_.insert(piece.rank);
    lines.append(line);
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
  const bool is_long = received.unfinished.size() > room;
  const bool is_long_bar = is_long && is_drawn_often(received.unfinished);
  if (is_long && !is_long_bar) {
    add_line(received.unfinished + "\n");
    received.unfinished.clear();
  }
  show(piece.stream, from, lines);
  if (is_long_bar) cut_bar(piece.stream, from, received.unfinished);
  unfinished_ += received.unfinished.size();
  if (display_ && !is_held(piece.stream, piece.rank)) {
    display_->grow(piece.stream, from, received.unfinished);
  }
  return true;
}

void Output::take_engine(sys::Stream stream, std::string_view chunk) {
  keep(engine_, "engine", chunk);
  const bool is_shown = display_ && audience_.engine == Audience::Engine::kAsItComes;
  if (!audience_.watch && !is_shown) return;
  engine_unfinished_.append(chunk);
  for (std::size_t end = 0; (end = engine_unfinished_.find('\n')) != std::string::npos;) {
    say_engine_line(stream, std::string_view(engine_unfinished_).substr(0, end + 1));
    engine_unfinished_.erase(0, end + 1);
  }
  if (engine_unfinished_.size() <= kLongestLine) return;
  engine_unfinished_ += '\n';
  say_engine_line(stream, engine_unfinished_);
  engine_unfinished_.clear();
}

void Output::say_engine_line(sys::Stream stream, std::string_view line) {
  if (audience_.watch) audience_.watch(stream, {.rank = -1, .text = line});
  if (display_) display_->show_engine(line);
}

// Cuts an overlong unfinished line before the bar's last drawing, and stores the first part without
// showing it. The bar stays on the screen.
void Output::cut_bar(sys::Stream stream, const Source& from, std::string& unfinished) {
  const std::size_t last = unfinished.rfind('\r');
  const std::string line = unfinished.substr(0, last) + "\n";
  if (audience_.watch) audience_.watch(stream, {.rank = from.rank, .text = line});
  store(stream, from, line);
  unfinished.erase(0, last);
}

void Output::say(std::string_view lines) {
  if (display_) return display_->say(lines);
  sys::write_err(lines);
}

void Output::remark(const std::string& host, int rank, std::string_view text) {
  show(sys::Stream::kErr, {.rank = rank, .host = host}, fmt::format("muster: {}\n", text));
}

void Output::finish() {
  for (auto& [key, received] : received_) {
    const auto& [host, rank, stream] = key;
    if (received.unfinished.empty()) continue;
    const std::string line = received.unfinished + "\n";
    received.unfinished.clear();
    if (audience_.watch) audience_.watch(stream, {.rank = rank, .text = line});
    show(stream, {.rank = rank, .host = host}, line);
  }
  if (!display_) return;
  if (!engine_unfinished_.empty()) display_->show_engine(engine_unfinished_ + "\n");
  engine_unfinished_.clear();
  display_->show_all();
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

void Output::reveal(int rank) {
  const auto known = std::find_if(received_.begin(), received_.end(), [rank](const auto& entry) {
    return std::get<int>(entry.first) == rank &&
           std::get<sys::Stream>(entry.first) == sys::Stream::kErr;
  });
  if (known == received_.end()) return;
  display_->reveal(rank);
  SourceLines last{.from = {.rank = rank, .host = std::get<std::string>(known->first)}};
  for (const std::string& line : last_errors(rank, kMostRevealed)) last.lines += line + "\n";
  display_->show_ending({last});
}

std::vector<std::string> Output::last_errors(int rank, std::size_t most) const {
  return last_lines(folder_ + "/" + rank_file(rank, sys::Stream::kErr), most);
}

std::vector<std::string> Output::last_of_engine(std::size_t most) const {
  return last_lines(engine_file(), most);
}

std::string Output::rank_file(int rank, sys::Stream stream) {
  return fmt::format("ranks/{}.{}", rank, stream == sys::Stream::kOut ? "out" : "err");
}

}  // namespace muster::run
