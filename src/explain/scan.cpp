#include "explain/scan.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/output_line.hpp"
#include "base/printable.hpp"

namespace muster::explain {
namespace {

// Longer lines are cut, because what identifies a failure is near the beginning of a line.
constexpr std::size_t kLongestLine = std::size_t{16} << 10;
constexpr std::size_t kLongestShown = 400;
constexpr std::size_t kMostSightings = 16;
constexpr std::size_t kMostNames = 4096;  // most ranks or hosts that are kept per failure
// Keeps the first and the last exceptions: a program may log and handle any number of them, and the
// one that ends it comes last.
constexpr std::size_t kFirstExceptions = 256;
constexpr std::size_t kLastExceptions = 256;
constexpr std::size_t kMostOddities = 4096;
constexpr std::size_t kLongestHelp = 80;                       // most lines between two rulers
constexpr std::string_view kAbortCalled = "mpi-abort-called";  // id in the failure catalogue

// Removes colours and cursor movements, such as "\x1b[1;31m".
std::string without_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      plain += text[at];
      continue;
    }
    if (at + 1 >= text.size() || text[at + 1] != '[') continue;
    at += 2;
    while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
  }
  return plain;
}

// Recognises "--------------" and "==============". Engines print such lines around their help.
bool is_ruler(std::string_view text) {
  constexpr std::size_t kShortest = 20;
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text.size() >= kShortest && (text.front() == '-' || text.front() == '=') &&
         text.find_first_not_of(text.front()) == std::string_view::npos;
}

// Whether the line belongs to a stack that PyTorch's C++ code prints below an error.
bool is_of_stack(std::string_view text) {
  return text.starts_with("frame #") || text.starts_with("Exception raised from ");
}

std::string shown(std::string_view text) {
  std::string plain(text.substr(0, kLongestShown));
  std::replace(plain.begin(), plain.end(), '\t', ' ');
  return printable(plain) + (text.size() > kLongestShown ? "..." : "");
}

// Replaces each number with '#', so that lines that differ only in numbers give the same text.
std::string shape_of(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  std::string shape;
  for (const char c : text.substr(0, kLongest)) {
    if (c < '0' || c > '9') {
      shape += c;
    } else if (!shape.ends_with('#')) {
      shape += '#';
    }
  }
  return shape;
}

// Returns -1 if the text is not a number.
int number_of(const std::string& text) {
  int number = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failed == std::errc() && end == text.data() + text.size() ? number : -1;
}

Exception printable_of(Exception exception) {
  for (std::string* text : {&exception.type, &exception.message, &exception.said,
                            &exception.frame.file, &exception.frame.function}) {
    *text = shown(*text);
  }
  if (exception.first) {
    exception.first = std::make_shared<const Exception>(printable_of(*exception.first));
  }
  return exception;
}

template <class Seen>
void count(Seen& seen, const Origin& origin) {
  ++seen.count;
  if (origin.rank >= 0 && seen.ranks.size() < kMostNames) seen.ranks.insert(origin.rank);
  if (!origin.host.empty() && seen.hosts.size() < kMostNames) seen.hosts.insert(origin.host);
}

}  // namespace

class Scan::State {
 public:
  State(const Matcher& matcher, int ranks) : matcher_(matcher), ranks_(ranks) {}

  void begin(const std::string& file, const Origin& origin, bool has_labels) {
    end_part();
    parting_words_.end_file();
    file_ = file;
    origin_ = origin;
    has_labels_ = has_labels;
    line_ = 0;
    is_counted_ = true;
    lines_before_ = evidence_.lines;
  }

  void skip() {
    end_part();
    is_counted_ = false;
  }

  void take(std::string_view bytes) {
    evidence_.bytes += bytes.size();
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      pending_ = true;
      append(part);
      if (end == std::string_view::npos) return;
      end_line();
      bytes.remove_prefix(end + 1);
    }
  }

  Evidence finish() {
    end_part();
    evidence_.parting_words = parting_words_.finish();
    for (PartingWords& words : evidence_.parting_words) words.text = shown(words.text);
    for (auto& [key, seen] : exceptions_) evidence_.exceptions.push_back(std::move(seen));
    std::stable_sort(evidence_.exceptions.begin(), evidence_.exceptions.end(),
                     [](const auto& a, const auto& b) { return a.order < b.order; });
    choose_oddities();
    return std::move(evidence_);
  }

 private:
  void append(std::string_view part) {
    while (!part.empty()) {
      const std::size_t count = std::min(part.size(), 2 * kLongestLine - unfinished_.size());
      unfinished_ += part.substr(0, count);
      part.remove_prefix(count);
      if (unfinished_.size() == 2 * kLongestLine) shorten();
    }
  }

  // Shortens an unfinished line. Of a progress bar, keeps the label and what was drawn last.
  void shorten() {
    const SplitLine labelled = split_labels(unfinished_, ranks_);
    const std::size_t label = unfinished_.size() - labelled.text.size();
    const std::size_t drawn = unfinished_.rfind('\r');
    if (drawn != std::string::npos && drawn > label) unfinished_.erase(label, drawn - label);
    unfinished_.resize(std::min(unfinished_.size(), kLongestLine));
  }

  // Ends everything that is unfinished, because the next bytes do not continue it.
  void end_part() {
    end_line();
    end_paragraph();
    end_help();
    for (const Exception& exception : tracebacks_.rest()) add(exception);
  }

  void end_line() {
    if (!std::exchange(pending_, false)) return;
    ++line_;
    ++evidence_.lines;
    const std::string line = without_escapes(unfinished_);
    unfinished_.clear();
    SplitLine labelled = has_labels_ ? split_labels(line, ranks_) : SplitLine{.text = line};
    labelled.text = last_drawn(labelled.text).substr(0, kLongestLine);
    if (labelled.origin.rank < 0) labelled.origin.rank = origin_.rank;
    if (labelled.origin.host.empty()) labelled.origin.host = origin_.host;
    if (auto exception = tracebacks_.take(labelled.origin, labelled.text, line_)) add(*exception);
    match(labelled.origin, labelled.text);
    paragraph(labelled.origin, labelled.text);
  }

  [[nodiscard]] Place place_of(std::uint64_t line) const {
    return {.file = file_, .line = is_counted_ ? line : 0};
  }

  void match(const Origin& origin, std::string_view text, bool in_paragraph = false) {
    if (text.find_first_not_of(' ') == std::string_view::npos) return;
    bool is_odd = false;
    const std::vector<Match> matches = matcher_.find(text, is_odd);
    for (const Match& match : matches) add(match, origin, text, in_paragraph);
    if (!matches.empty()) help_is_known_ = true;
    note_parting_words(matches, origin, text, in_paragraph);
    if (is_odd && matches.empty() && !in_paragraph && !is_of_stack(text)) add_odd(origin, text);
  }

  void note_parting_words(const std::vector<Match>& matches, const Origin& origin,
                          std::string_view text, bool in_paragraph) {
    // Lines of muster and of an engine's help are not words of a rank.
    const bool is_help = origin.rank < 0 && help_lines_ > 0;
    if (matches.empty() && (is_help || text.starts_with("muster: "))) return;
    using Meaning = PartingWordsOfRanks::Meaning;
    auto meaning = matches.empty() ? Meaning::kUnknown : Meaning::kHarmless;
    bool is_abort = false;
    int aborted = -1;
    for (const Match& match : matches) {
      if (match.failure->id == kAbortCalled) {
        is_abort = true;
        const auto values = matcher_.values_of(match, text);
        const auto rank = values.find("rank");
        if (rank != values.end()) aborted = number_of(rank->second);
      } else if (match.failure->kind == catalogue::Kind::kCause) {
        meaning = Meaning::kCause;
      } else if (match.failure->kind == catalogue::Kind::kConsequence &&
                 meaning != Meaning::kCause) {
        meaning = Meaning::kConsequence;
      }
    }
    if (is_abort) return parting_words_.take_abort(origin, aborted);
    if (in_paragraph && matches.empty()) return;  // the lines of the paragraph were taken already
    parting_words_.take(origin, text, meaning, place_of(line_), evidence_.lines);
  }

  void add(const Match& match, const Origin& origin, std::string_view text, bool in_paragraph) {
    const catalogue::Failure& failure = *match.failure;
    auto [found, is_new] = seen_.try_emplace(&failure, evidence_.failures.size());
    if (is_new) {
      evidence_.failures.push_back({.failure = &failure, .order = evidence_.lines});
    }
    SeenFailure& seen = evidence_.failures[found->second];
    const auto same = std::find_if(seen.first.begin(), seen.first.end(),
                                   [&](const auto& one) { return one.origin == origin; });
    if (in_paragraph) {  // the lines were counted already, but together they may show more values
      if (same != seen.first.end()) same->values.merge(matcher_.values_of(match, text));
      if (!is_new) return;
    }
    count(seen, origin);
    if (same != seen.first.end()) {  // another pattern may have further values
      if (seen.count <= kMostSightings) same->values.merge(matcher_.values_of(match, text));
      return;
    }
    if (seen.first.size() >= kMostSightings) return;
    seen.first.push_back({.place = place_of(in_paragraph ? paragraph_begins_ : line_),
                          .origin = origin,
                          .text = shown(text),
                          .values = matcher_.values_of(match, text)});
  }

  void add_odd(const Origin& origin, std::string_view text) {
    const std::string shape = shape_of(text);
    const auto found = odd_lines_.find(shape);
    if (found != odd_lines_.end()) {
      ++found->second.count;
      found->second.order = evidence_.lines;
      return;
    }
    if (odd_lines_.size() >= kMostOddities) forget_oddities();
    if (help_lines_ > 0) odd_lines_of_help_.push_back(shape);
    odd_lines_[shape] = {.place = place_of(line_),
                         .origin = origin,
                         .text = shown(text),
                         .order = evidence_.lines,
                         .count = 1};
  }

  // Forgets lines that occurred more than once and then, if there are still too many, the older
  // half of the rest.
  void forget_oddities() {
    std::erase_if(odd_lines_, [](const auto& one) { return one.second.count > 1; });
    if (odd_lines_.size() < kMostOddities / 2) return;
    std::vector<std::uint64_t> orders;
    orders.reserve(odd_lines_.size());
    for (const auto& [shape, odd] : odd_lines_) orders.push_back(odd.order);
    const auto middle = orders.begin() + static_cast<std::ptrdiff_t>(orders.size() / 2);
    std::nth_element(orders.begin(), middle, orders.end());
    std::erase_if(odd_lines_, [&](const auto& one) { return one.second.order < *middle; });
  }

  void choose_oddities() {
    std::vector<Oddity>& chosen = evidence_.oddities;
    for (auto& [shape, odd] : odd_lines_) chosen.push_back(std::move(odd));
    std::sort(chosen.begin(), chosen.end(), [](const Oddity& a, const Oddity& b) {
      return std::pair(a.count, -static_cast<std::int64_t>(a.order)) <
             std::pair(b.count, -static_cast<std::int64_t>(b.order));
    });
    chosen.resize(std::min(chosen.size(), kShownOddities));
    std::sort(chosen.begin(), chosen.end(),
              [](const Oddity& a, const Oddity& b) { return a.order < b.order; });
  }

  // Adds the exception. If it is only a consequence, and was raised while another exception was
  // handled, adds that other exception too.
  void add(const Exception& exception) {
    const Match match = telling_match(exception.said);
    if (exception.first && match.failure != nullptr &&
        match.failure->kind == catalogue::Kind::kConsequence) {
      add(*exception.first);
    }
    const std::string key = exception.type + shape_of(exception.message) + exception.frame.file +
                            ":" + std::to_string(exception.frame.line);
    const auto found = exceptions_.find(key);
    const std::uint64_t order = lines_before_ + exception.line;
    if (found != exceptions_.end()) {
      if (found->second.place.file == file_) found->second.last_order = order;
      return count(found->second, exception.origin);
    }
    SeenException seen{.exception = printable_of(exception),
                       .place = place_of(exception.line),
                       .order = order,
                       .last_order = order,
                       .failure = match.failure};
    if (match.failure != nullptr) seen.values = matcher_.values_of(match, exception.said);
    count(seen, exception.origin);
    exceptions_.emplace(key, std::move(seen));
    if (exceptions_.size() <= kFirstExceptions) return;
    later_.push_back(key);
    if (later_.size() <= kLastExceptions) return;
    exceptions_.erase(later_.front());
    later_.pop_front();
  }

  // Returns the failure that the text shows. If there are several, prefers a cause to a
  // consequence.
  Match telling_match(std::string_view text) {
    bool is_odd = false;
    Match best;
    for (const Match& match : matcher_.find(text, is_odd)) {
      if (match.failure->kind == catalogue::Kind::kBenign) continue;
      if (best.failure == nullptr || match.failure->kind < best.failure->kind) best = match;
    }
    return best;
  }

  // Engines wrap their help, so its lines are also matched together, as one text.
  void paragraph(const Origin& origin, std::string_view text) {
    const bool is_edge = is_ruler(text);
    const bool is_end = is_edge || text.find_first_not_of(' ') == std::string_view::npos;
    if (is_end || origin != paragraph_origin_) end_paragraph();
    if (is_edge) {
      const bool is_second = help_lines_ > 0;
      end_help();
      if (!is_second) help_lines_ = kLongestHelp;
      return;
    }
    if (help_lines_ == 1) end_help();
    if (help_lines_ > 0) --help_lines_;
    if (is_end || help_lines_ == 0) return;
    if (paragraph_.empty()) paragraph_begins_ = line_;
    paragraph_origin_ = origin;
    const std::size_t start = text.find_first_not_of(' ');
    paragraph_ += (paragraph_.empty() ? "" : " ") + std::string(text.substr(start));
    while (paragraph_.ends_with(' ')) paragraph_.pop_back();
    ++paragraph_lines_;
    if (paragraph_.size() > kLongestLine) end_paragraph();
  }

  // If the catalogue knows the help, none of its lines counts as unusual.
  void end_help() {
    if (help_is_known_) {
      for (const std::string& shape : odd_lines_of_help_) odd_lines_.erase(shape);
    }
    odd_lines_of_help_.clear();
    help_is_known_ = false;
    help_lines_ = 0;
  }

  void end_paragraph() {
    if (paragraph_lines_ > 1) match(paragraph_origin_, paragraph_, true);
    paragraph_.clear();
    paragraph_lines_ = 0;
  }

  const Matcher& matcher_;
  int ranks_;

  std::string file_;
  Origin origin_;
  bool has_labels_ = true;
  std::uint64_t line_ = 0;
  std::uint64_t lines_before_ = 0;  // lines in earlier files
  std::string unfinished_;
  bool pending_ = false;
  bool is_counted_ = true;  // whether line_ is the number of the line in the file

  std::size_t help_lines_ = 0;  // how many lines of help may still follow
  bool help_is_known_ = false;
  std::vector<std::string> odd_lines_of_help_;
  std::string paragraph_;
  std::size_t paragraph_lines_ = 0;
  std::uint64_t paragraph_begins_ = 0;  // number of its first line
  Origin paragraph_origin_;

  Tracebacks tracebacks_;
  PartingWordsOfRanks parting_words_;
  std::unordered_map<const catalogue::Failure*, std::size_t> seen_;
  std::unordered_map<std::string, SeenException> exceptions_;
  std::deque<std::string> later_;  // keys of all but the first exceptions
  std::unordered_map<std::string, Oddity> odd_lines_;
  Evidence evidence_;
};

Scan::Scan(const Matcher& matcher, int ranks) : state_(std::make_unique<State>(matcher, ranks)) {}
Scan::~Scan() = default;

void Scan::begin(const std::string& file, const Origin& origin, bool has_labels) {
  state_->begin(file, origin, has_labels);
}

void Scan::take(std::string_view bytes) {
  state_->take(bytes);
}

void Scan::skip() {
  state_->skip();
}

Evidence Scan::finish() {
  return state_->finish();
}

}  // namespace muster::explain
