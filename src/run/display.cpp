#include "run/display.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/colour.hpp"
#include "base/output_line.hpp"
#include "run/folder.hpp"
#include "run/lines.hpp"
#include "sys/print.hpp"

namespace muster::run {
namespace {

// Whether this terminal can redraw a line.
bool can_erase() {
  const char* const kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  return kind == nullptr || std::string_view(kind) != "dumb";
}

std::size_t count_lines(std::string_view lines) {
  return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
}

int shown_ranks(const Show& show, int ranks) {
  if (!show.ranks) return ranks;
  return static_cast<int>(std::count_if(show.ranks->begin(), show.ranks->end(),
                                        [ranks](int rank) { return rank < ranks; }));
}

}  // namespace

std::string labelled(std::string_view label, std::string_view lines) {
  std::string text;
  for_each_line(lines, [&](std::string_view line) { text.append(label).append(" ").append(line); });
  return text;
}

Display::Display(const std::string& folder, int ranks, Show show)
    : show_(std::move(show)),
      out_(style_on(STDOUT_FILENO, show_)),
      err_(style_on(STDERR_FILENO, show_)),
      folding_(shown_ranks(show_, ranks), show_.fold != Show::Fold::kNever),
      run_id_(id_of(folder)),
      out_pace_(shown_ranks(show_, ranks)),
      err_pace_(shown_ranks(show_, ranks)),
      screen_(folder) {}

Display::Style Display::style_on(int descriptor, const Show& show) {
  const bool is_terminal = ::isatty(descriptor) != 0;
  return {.is_terminal = is_terminal,
          .draws = is_terminal && can_erase(),
          .folds = show.folds(is_terminal),
          .colours = sys::shows_colours(descriptor)};
}

const Display::Style& Display::style(sys::Stream stream) const {
  return stream == sys::Stream::kOut ? out_ : err_;
}

std::string Display::label(sys::Stream stream, const std::vector<Source>& from) const {
  return painted_label(stream, from, style(stream).colours);
}

void Display::show(sys::Stream stream, const Source& from, std::string_view lines) {
  if (!shows(from.rank) || lines.empty()) return;
  if (style(stream).is_plain()) {
    if (stream == sys::Stream::kErr) last_errors_ = {from};
    return screen_.show(stream, labelled(label_of({from}), lines));
  }
  if (is_paced(stream) && !pace(stream).has_room(from.rank, 0, Pace::Clock::now())) {
    return leave_out(stream, from, count_lines(lines));
  }
  for_each_line(lines, [&](std::string_view line) {
    take_line(stream, from, line);
    if (folding_.is_full()) show_due();
  });
  show_due();
}

void Display::show_ending(const std::vector<SourceLines>& parts) {
  std::size_t room = err_.is_terminal ? kMostOfAnEnding : std::string::npos;
  std::vector<SourceLines> last;  // the last part first
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    std::string_view lines = part->lines;
    std::string_view earlier;
    if (lines.size() > room) {
      const std::size_t begin = lines.find('\n', lines.size() - room - 1) + 1;
      earlier = lines.substr(0, begin);
      lines.remove_prefix(begin);
      room = 0;
    } else {
      room -= lines.size();
    }
    if (!earlier.empty()) err_pace_.count_left_out(count_lines(earlier));
    if (!lines.empty()) last.push_back({part->from, std::string(lines)});
  }
  tell_left_out(sys::Stream::kErr, err_pace_.take_all_left_out());
  shows_ending_ = true;
  for (auto part = last.rbegin(); part != last.rend(); ++part) {
    show(sys::Stream::kErr, part->from, part->lines);
  }
  show_all();
  shows_ending_ = false;
}

Pace& Display::pace(sys::Stream stream) {
  return stream == sys::Stream::kOut ? out_pace_ : err_pace_;
}

// Leaves out lines that were not yet looked at.
void Display::leave_out(sys::Stream stream, const Source& from, std::size_t lines) {
  (void)bars_.grow(stream, from, {});
  for (std::size_t i = 0; i < std::min(lines, Folding::kMostRows); ++i) {
    folding_.skip(stream, from.rank);
  }
  pace(stream).count_left_out(lines);
  if (stream == sys::Stream::kErr) last_errors_.clear();
}

void Display::tell_left_out(sys::Stream stream, std::uint64_t lines) {
  if (lines == 0) return;
  screen_.show(stream, fmt::format("muster: {} line{} not shown here; to see all: muster logs {}\n",
                                   lines, lines == 1 ? "" : "s", run_id_));
}

void Display::take_line(sys::Stream stream, const Source& from, std::string_view line) {
  folding_.withdraw(stream, from.rank, bars_.end(stream, from, line));
  const bool bar = is_bar(line);
  const bool is_hidden = bar && style(stream).folds && !bars_.shows(from.rank);
  if (is_hidden || shows_nothing(line)) return folding_.skip(stream, from.rank);
  const std::string_view drawn = last_drawn(line);
  const std::string text = style(stream).is_terminal ? in_its_line(drawn) : std::string(drawn);
  const bool may_change = bar || bars_.is_tall(stream, from.rank);
  folding_.add(stream, from, text + "\n", may_change, Folding::Clock::now());
}

void Display::grow(sys::Stream stream, const Source& from, std::string_view line) {
  if (!shows(from.rank) || !style(stream).draws) return;
  folding_.withdraw(stream, from.rank, bars_.grow(stream, from, line));
  put_live();
}

void Display::show_due() {
  const auto now = Folding::Clock::now();
  put(folding_.take_due(now));
  for (const sys::Stream stream : {sys::Stream::kOut, sys::Stream::kErr}) {
    tell_left_out(stream, pace(stream).take_left_out(now));
  }
}

void Display::show_all() {
  put(folding_.take_all());
  for (const sys::Stream stream : {sys::Stream::kOut, sys::Stream::kErr}) {
    tell_left_out(stream, pace(stream).take_all_left_out());
  }
}

void Display::put(const std::vector<Folding::Line>& lines) {
  for (const Folding::Line& line : lines) put_line(line);
  put_live();
}

// Shows the line, unless it is for a terminal that has got too many.
void Display::put_line(const Folding::Line& line) {
  const std::string text = labelled(label(line.stream, line.from), line.text);
  if (is_paced(line.stream)) {
    const int rank = line.from.front().rank;
    const auto now = Pace::Clock::now();
    Pace& its_pace = pace(line.stream);
    if (!its_pace.has_room(rank, text.size(), now)) {
      its_pace.count_left_out(line.from.size());
      if (line.stream == sys::Stream::kErr) last_errors_.clear();
      return;
    }
    tell_left_out(line.stream, its_pace.take_left_out(now));
    its_pace.count_shown(rank, text.size());
  }
  if (line.stream == sys::Stream::kErr) last_errors_ = line.from;
  screen_.show(line.stream, text);
}

void Display::put_live() {
  const Bars::Live* const live = bars_.live();
  if (live == nullptr) return screen_.set_live(sys::Stream::kErr, "");
  screen_.set_live(live->stream, labelled(label(live->stream, {live->from}), live->text));
}

void Display::say(std::string_view lines) {
  show_all();
  screen_.show(sys::Stream::kErr, lines);
}

void Display::show_engine(std::string_view lines) {
  screen_.show(sys::Stream::kErr,
               labelled(painted("[engine]", Colour::kMagenta, err_.colours), lines));
}

bool Display::shown_last(int rank) const {
  return std::any_of(last_errors_.begin(), last_errors_.end(),
                     [rank](const Source& one) { return one.rank == rank; });
}

}  // namespace muster::run
