#include "cli/habits.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

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

// Reads a line from left to right.
class Reader {
 public:
  Reader(const Line& line, const Flags& own) : line_(line), own_(own) {}

  Result<Line> read() {
    result_ = {.words = {line_.words.front()}, .dashes = line_.dashes, .program = line_.program};
    for (at_ = 1; at_ < line_.words.size(); ++at_) {
      if (is_flag(line_.words[at_])) {
        MUSTER_CHECK(read_flag(with_dashes(line_.words[at_])));
      } else {
        MUSTER_CHECK(read_program());
      }
    }
    return result_;
  }

 private:
  Result<void> read_flag(const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    const auto own = own_.find(name);
    const Habit* const habit = find_habit(name);
    // A flag of this very command, such as -o of submit, is not refused for another's sake.
    if (habit != nullptr && (own == own_.end() || !refuses(*habit)))
      return read_habit(*habit, word);
    if (own != own_.end()) return take(word, own->second);
    const bool one_dash = word.size() > 2 && word[1] != '-';
    if (one_dash) {  // mpirun and hydra have -np, -hostfile, -bind-to
      if (const Habit* longer_one = find_habit("-" + name)) return read_habit(*longer_one, word);
      const auto longer = own_.find("-" + name);
      if (longer != own_.end()) return take("-" + word, longer->second);
      if (own_.contains(word.substr(0, 2))) return take(word, false);  // -n4, -qd
    }
    return unknown(name, word);
  }

  // Flags of other launchers are suggested too.
  [[nodiscard]] Result<void> unknown(const std::string& name, const std::string& word) const {
    Words known;
    for (const auto& [flag, has_value] : own_) {
      if (flag.starts_with("--")) known.push_back(flag);
    }
    for (const Habit& habit : habits()) {
      for (const std::string& flag : split(habit.names, ' ')) known.push_back(flag);
    }
    const std::string& command = line_.words.front();
    const std::string what = fmt::format("muster {} has no flag {}", command, name);
    const std::string right = meant(name, known);
    if (!right.empty()) return refused(what, fmt::format("did you mean {}?", right));
    return refused(
        what, fmt::format("muster {} --help lists the flags; flags of your program go after its "
                          "name; a flag for the engine: {}",
                          command, sys::quote(std::string_view("--engine-arg=" + word))));
  }

  // A flag of muster's own, and its value where that is the next word.
  Result<void> take(const std::string& word, bool has_value) {
    result_.words.push_back(word);
    const bool follows = has_value && word.find('=') == std::string::npos;
    const bool last = at_ + 1 >= line_.words.size();
    if (word == "--again") {  // its ID may be left out
      const bool named = !last && !is_flag(line_.words[at_ + 1]);
      result_.words.back() += "=" + (named ? line_.words[++at_] : "last");
    } else if (follows && !last) {
      result_.words.push_back(line_.words[++at_]);
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
      if (at_ + 1 >= line_.words.size()) {
        return refused(
            fmt::format("{} needs {} value{}", word, habit.values, habit.values == 1 ? "" : "s"),
            "docs/habits.md has the flags of other launchers");
      }
      given.values.push_back(line_.words[++at_]);
      given.typed.push_back(given.values.back());
    }
    MUSTER_TRY(const Words words, habit.read(habit, given));
    result_.words.insert(result_.words.end(), words.begin(), words.end());
    return {};
  }

  // A word that belongs to no flag: the module after -m, or the program.
  Result<void> read_program() {
    const std::string& before = line_.words[at_ - 1];
    const bool is_module = before == "-m" || before == "--module";
    if (is_module && line_.dashes) {
      result_.program.insert(result_.program.begin(), line_.words[at_]);
      return {};
    }
    if (!line_.dashes && among(line_.words.front(), "run check submit")) {
      result_.program.assign(line_.words.begin() + static_cast<std::ptrdiff_t>(at_),
                             line_.words.end());
      at_ = line_.words.size();
      return {};
    }
    Words right = {"muster"};
    const auto here = line_.words.begin() + static_cast<std::ptrdiff_t>(at_);
    right.insert(right.end(), line_.words.begin(), here);
    hide_values(right);
    const std::string flags = sys::quote(right);
    right.assign(here, line_.words.end());
    right.insert(right.end(), line_.program.begin(), line_.program.end());
    return refused(
        fmt::format("'{}' comes before --", line_.words[at_]),
        fmt::format("put the whole program after --:\n  {} -- {}", flags, sys::quote(right)));
  }

  // Of variables: they may be secrets.
  static void hide_values(Words& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const bool follows = among(words[i - 1], "-x --env --export");
      const std::size_t flag = among(words[i].substr(0, words[i].find('=')), "--env --export")
                                   ? words[i].find('=') + 1
                                   : 0;
      const std::size_t equals = words[i].find('=', flag);
      const bool inside = flag != 0 || words[i].starts_with("-x");
      if ((follows || inside) && equals != std::string::npos) {
        words[i] = words[i].substr(0, equals + 1) + "...";
      }
    }
  }

  const Line& line_;
  const Flags& own_;
  Line result_ = {};
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

Result<Line> in_own_words(const Line& line, const Flags& own) {
  return Reader(line, own).read();
}

}  // namespace muster::cli
