#include "explain/matcher.hpp"

#include <utility>

#include <re2/re2.h>
#include <re2/set.h>

#include "base/printable.hpp"

namespace muster::explain {
namespace {

constexpr std::int64_t kAutomatonBytes = std::int64_t{96} << 20;
constexpr std::size_t kLongestValue = 400;

constexpr const char* kOdd =
    "(?i)\\b(error|errors|failed|failure|fatal|cannot|can't|could not|unable|exception|abort(ed)?|"
    "refused|denied|killed|invalid|no such|not found|panic|timed out)\\b|(Error|Exception)\\b";

RE2::Options re2_options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kAutomatonBytes);
  return options;
}

re2::StringPiece piece_of(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

class Matcher::Patterns {
 public:
  explicit Patterns(const std::vector<catalogue::Failure>& failures)
      : set_(re2_options(), RE2::UNANCHORED) {
    for (const catalogue::Failure& failure : failures) {
      for (const std::string& pattern : failure.patterns) {
        if (set_.Add(pattern, nullptr) < 0) continue;  // a unit test finds invalid patterns
        all_.push_back({.failure = &failure, .text = &pattern, .regex = nullptr});
      }
    }
    odd_ = set_.Add(kOdd, nullptr);
    set_.Compile();
  }

  std::vector<Match> find(std::string_view line, bool& is_odd) {
    std::vector<int> found;
    RE2::Set::ErrorInfo error{};
    is_odd = false;
    if (!set_.Match(piece_of(line), &found, &error) && error.kind != RE2::Set::kNoError) {
      return find_one_by_one(line);
    }
    std::vector<Match> matches;
    for (const int id : found) {
      if (id == odd_) {
        is_odd = true;
      } else {
        const auto pattern = static_cast<std::size_t>(id);
        matches.push_back({.failure = all_[pattern].failure, .pattern = pattern});
      }
    }
    return matches;
  }

  std::map<std::string, std::string> values_of(std::size_t pattern, std::string_view line) {
    RE2& regex = compiled(pattern);
    const auto& names = regex.CapturingGroupNames();
    if (names.empty()) return {};
    std::vector<re2::StringPiece> groups(static_cast<std::size_t>(regex.NumberOfCapturingGroups()) +
                                         1);
    if (!regex.Match(piece_of(line), 0, line.size(), RE2::UNANCHORED, groups.data(),
                     static_cast<int>(groups.size()))) {
      return {};
    }
    std::map<std::string, std::string> values;
    for (const auto& [number, name] : names) {
      const re2::StringPiece value = groups[static_cast<std::size_t>(number)];
      if (!value.empty()) {
        values[name] =
            printable(std::string_view(value.data(), value.size()).substr(0, kLongestValue));
      }
    }
    return values;
  }

 private:
  struct Pattern {
    const catalogue::Failure* failure = nullptr;
    const std::string* text = nullptr;
    std::unique_ptr<RE2> regex;  // compiled when it is first needed alone
  };

  // Tries each pattern alone. Needed if the automaton of all patterns exceeds its memory limit on
  // this line.
  std::vector<Match> find_one_by_one(std::string_view line) {
    std::vector<Match> matches;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (RE2::PartialMatch(piece_of(line), compiled(i))) {
        matches.push_back({.failure = all_[i].failure, .pattern = i});
      }
    }
    return matches;
  }

  RE2& compiled(std::size_t pattern) {
    auto& regex = all_[pattern].regex;
    if (!regex) regex = std::make_unique<RE2>(*all_[pattern].text, re2_options());
    return *regex;
  }

  RE2::Set set_;
  int odd_ = -1;
  std::vector<Pattern> all_;
};

Matcher::Matcher(const std::vector<catalogue::Failure>& failures)
    : patterns_(std::make_unique<Patterns>(failures)) {}
Matcher::~Matcher() = default;

std::vector<Match> Matcher::find(std::string_view line, bool& is_odd) const {
  return patterns_->find(line, is_odd);
}

std::map<std::string, std::string> Matcher::values_of(const Match& match,
                                                      std::string_view line) const {
  return patterns_->values_of(match.pattern, line);
}

}  // namespace muster::explain
