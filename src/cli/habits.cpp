#include "cli/habits.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "cli/flag_words.hpp"
#include "cli/meant.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

unexpected<Error> refused(std::string what, std::string hint) {
  return unexpected(
      Error{.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)});
}

bool among(std::string_view word, std::string_view listed) {
  const Words words = split(listed, ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

const Habit* find_habit(std::string_view name) {
  const auto all = habits();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Habit& habit) { return among(name, habit.names); });
  return found == all.end() ? nullptr : &*found;
}

bool is_flag(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

// Whether the flag's value is the next word: true for "-H", "--hosts" and "-lH", false for "-Hn1".
bool wants_next(const std::string& word, const Flags& own) {
  if (const auto flag = own.find(word); flag != own.end()) return flag->second;
  if (word.starts_with("--")) return false;
  for (std::size_t i = 1; i < word.size(); ++i) {
    const auto flag = own.find(std::string("-") + word[i]);
    if (flag == own.end()) return false;
    if (flag->second) return i + 1 == word.size();
  }
  return false;
}

// Whether another word follows that the flag may take as its value.
bool has_next(const Words& words, std::size_t at) {
  return at + 1 < words.size() && words[at + 1] != "--";
}

// Splits the line at this word, where the program begins. If the word is "--", the program begins
// after it.
Line split_at(const Words& words, std::size_t first) {
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(first);
  const bool dashes = end != words.end() && *end == "--";
  Line line{.words = {words.begin(), end}, .program = {end + (dashes ? 1 : 0), words.end()}};
  for (std::string& word : line.words) word = with_dashes(std::move(word));
  return line;
}

// Reads a line from left to right.
class Reader {
 public:
  Reader(const Words& words, const Flags& own) : words_(words), own_(own) {}

  Result<Line> read() {
    result_.words = {words_.front()};
    for (at_ = 1; at_ < words_.size(); ++at_) {
      if (words_[at_] == "--") {
        take_program(at_ + 1);
      } else if (is_flag(words_[at_])) {
        MUSTER_CHECK(read_flag(with_dashes(words_[at_])));
      } else {
        MUSTER_CHECK(read_program());
      }
    }
    MUSTER_CHECK(choose_engine());
    return result_;
  }

 private:
  Result<void> read_flag(const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_own = own_.contains(name);
    const Habit* const habit = find_habit(name);
    // If this command has a flag of this name, such as -o of submit, its own flag wins over a habit
    // that would be rejected.
    if (habit != nullptr && (!is_own || !refuses(*habit))) return read_habit(*habit, word);
    if (is_own) return take(word);
    const bool one_dash = word.size() > 2 && word[1] != '-';
    if (one_dash) {  // mpirun and hydra use -np, -hostfile, -bind-to
      if (const Habit* longer_one = find_habit("-" + name)) return read_habit(*longer_one, word);
      if (own_.contains("-" + name)) return take("-" + word);
      if (own_.contains(word.substr(0, 2))) return take(word);  // -n4, -qd
    }
    return unknown(name, word);
  }

  // Suggests flags of other launchers too.
  [[nodiscard]] Result<void> unknown(const std::string& name, const std::string& word) const {
    Words known;
    for (const auto& [flag, has_value] : own_) {
      if (flag.starts_with("--")) known.push_back(flag);
    }
    for (const Habit& habit : habits()) {
      for (const std::string& flag : split(habit.names, ' ')) known.push_back(flag);
    }
    const std::string& command = words_.front();
    const std::string what = fmt::format("muster {} has no flag {}", command, name);
    const std::string right = meant(name, known);
    if (!right.empty()) return refused(what, fmt::format("did you mean {}?", right));
    return refused(what,
                   fmt::format("muster {} --help lists the flags; flags of your program go after "
                               "its name; to pass a flag to the engine: {}",
                               command, sys::quote(std::string_view("--engine-arg=" + word))));
  }

  // Takes a flag of muster itself, and its value if that is the next word.
  Result<void> take(const std::string& word) {
    result_.words.push_back(word);
    const Flag* flag = find_flag(word);
    if (flag != nullptr && !flag->if_left_out.empty()) {
      const bool named = has_next(words_, at_) && !is_flag(words_[at_ + 1]);
      result_.words.back() += "=" + (named ? words_[++at_] : std::string(flag->if_left_out));
    } else if (wants_next(word, own_) && has_next(words_, at_)) {
      result_.words.push_back(words_[++at_]);
    }
    return {};
  }

  Result<void> read_habit(const Habit& habit, const std::string& word) {
    Given given{.typed = {word}, .values = {}};
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) given.values.push_back(word.substr(equals + 1));
    if (habit.values == 0 && !given.values.empty()) {
      return refused(fmt::format("{} takes no value", word.substr(0, equals)), "leave it out");
    }
    while (given.values.size() < static_cast<std::size_t>(habit.values)) {
      if (!has_next(words_, at_)) {
        return refused(
            fmt::format("{} needs {} value{}", word, habit.values, habit.values == 1 ? "" : "s"),
            "docs/habits.md lists the flags of other launchers");
      }
      given.values.push_back(words_[++at_]);
      given.typed.push_back(given.values.back());
    }
    MUSTER_TRY(const Words words, habit.read(habit, given));
    result_.words.insert(result_.words.end(), words.begin(), words.end());
    if (!habit.engine.empty()) engine_flag_ = {&habit, word};
    return {};
  }

  // Selects the engine to which a given flag belongs. Fails if the user chose another engine.
  Result<void> choose_engine() {
    const auto& [habit, flag] = engine_flag_;
    if (habit == nullptr) return {};
    const std::string given = given_engine();
    if (given.empty()) {
      result_.words.insert(result_.words.begin() + 1, {"--engine", std::string(habit->engine)});
    }
    if (given.empty() || given == habit->engine) return {};
    return refused(
        fmt::format("{} is a flag of {}, and --engine {} was given", flag, habit->engine, given),
        fmt::format("leave one of them out, or use --engine {}", habit->engine));
  }

  // The value of --engine; empty if it was not given.
  [[nodiscard]] std::string given_engine() const {
    for (std::size_t i = 0; i < result_.words.size(); ++i) {
      const std::string& word = result_.words[i];
      if (word.starts_with("--engine=")) return word.substr(word.find('=') + 1);
      if (word == "--engine" && i + 1 < result_.words.size()) return result_.words[i + 1];
    }
    return {};
  }

  // Reads a word that belongs to no flag: the program, or the module after -m.
  Result<void> read_program() {
    const std::string& command = words_.front();
    if (!among(command, "run check submit config")) {
      return refused(
          fmt::format("muster {1} does not take the argument '{0}'", words_[at_], command),
          fmt::format("muster {} --help lists all flags", command));
    }
    const bool is_module = std::any_of(result_.words.begin(), result_.words.end(),
                                       [](const auto& word) { return among(word, "-m --module"); });
    take_program(at_);
    const auto second = result_.program.begin() + 1;
    // In `-m package.train -- --epochs 3`, the "--" is not an argument of the program.
    if (is_module && second != result_.program.end() && *second == "--") {
      result_.program.erase(second);
    }
    return {};
  }

  void take_program(std::size_t first) {
    result_.program.assign(words_.begin() + static_cast<std::ptrdiff_t>(first), words_.end());
    at_ = words_.size();
  }

  const Words& words_;
  const Flags& own_;
  Line result_ = {};
  std::pair<const Habit*, std::string> engine_flag_ = {};  // the second is the flag as it was typed
  std::size_t at_ = 0;
};

}  // namespace

Words split(std::string_view text, char mark) {
  Words parts;
  while (true) {
    const std::size_t end = std::min(text.find(mark), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string with_dashes(std::string word) {
  if (word.starts_with("--")) {
    std::replace(word.begin(), std::find(word.begin(), word.end(), '='), '_', '-');
  }
  return word;
}

Result<Line> in_own_words(const Words& words, const Flags& own) {
  return Reader(words, own).read();
}

Result<Line> in_own_words_after(std::size_t arguments, const Words& words, const Flags& own) {
  const auto first = words.begin() + 1;
  const auto last = first + static_cast<std::ptrdiff_t>(arguments);
  Words flags = words;
  flags.erase(flags.begin() + 1, flags.begin() + 1 + static_cast<std::ptrdiff_t>(arguments));
  MUSTER_TRY(Line line, in_own_words(flags, own));
  line.words.insert(line.words.begin() + 1, first, last);
  return line;
}

std::size_t leading_arguments(const Words& words) {
  const auto flag = std::find_if(words.begin() + 1, words.end(),
                                 [](const std::string& word) { return word.starts_with('-'); });
  return static_cast<std::size_t>(flag - words.begin()) - 1;
}

bool asks_for_help(const Words& words) {
  return words.size() < 2 || words[1] == "-h" || words[1] == "--help";
}

Line split_program(const Words& words, const Flags& own) {
  std::size_t first = 1;
  while (first < words.size() && is_flag(words[first]) && words[first] != "--") {
    const bool takes_next = wants_next(with_dashes(words[first]), own) && has_next(words, first);
    first += takes_next ? 2 : 1;
  }
  return split_at(words, std::min(first, words.size()));
}

Line split_at_dashes(const Words& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  return split_at(words, static_cast<std::size_t>(dashes - words.begin()));
}

}  // namespace muster::cli
