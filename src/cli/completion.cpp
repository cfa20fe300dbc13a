#include "cli/completion.hpp"

#include <algorithm>
#include <array>

#include "base/printable.hpp"
#include "trainflags/help.hpp"

namespace muster::cli {
namespace {

constexpr std::size_t kAboutLength = 60;

// The kinds of values, by the words that --help uses for them.
struct ValueKind {
  std::string_view word;
  Wanted wanted;
};
constexpr std::array kValueKinds = {
    ValueKind{"HOSTS", Wanted::kHosts},     ValueKind{"HOST", Wanted::kHosts},
    ValueKind{"PATH", Wanted::kFiles},      ValueKind{"DIRECTORY", Wanted::kFolders},
    ValueKind{"DIR", Wanted::kFolders},     ValueKind{"RUN", Wanted::kRuns},
    ValueKind{"RESULTS", Wanted::kResults}, ValueKind{"PROFILE", Wanted::kProfiles},
};

// A short form of the description, without the details at its end.
std::string about(const std::string& text) {
  std::string start = text.substr(0, std::min(text.find(';'), text.find(" (")));
  if (start.size() <= kAboutLength) return start;
  start.resize(std::min(start.rfind(' ', kAboutLength), kAboutLength));
  return start + " ...";
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  const auto found =
      app.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

template <typename Has>
const CLI::Option* find_option(const CLI::App& command, Has has) {
  const auto found = command.get_options(has);
  return found.empty() ? nullptr : found.front();
}

const CLI::Option* long_option(const CLI::App& command, const std::string& name) {
  return find_option(command, [&](const CLI::Option* one) { return one->check_lname(name); });
}

// The option of the last letter in letters such as "qH". Null if an earlier option takes the rest
// as its value.
const CLI::Option* last_letter(const CLI::App& command, const std::string& letters) {
  const CLI::Option* option = nullptr;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::string letter = letters.substr(i, 1);
    if (takes_value(option)) return nullptr;
    option = find_option(command, [&](const CLI::Option* one) { return one->check_sname(letter); });
    if (option == nullptr) return nullptr;
  }
  return option;
}

// The option that "--hosts", "-hosts", "-H" or "-qH" means.
const CLI::Option* option_in(const CLI::App& command, const std::string& word) {
  const std::string flag = word.substr(0, word.find('='));
  const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  const CLI::Option* option = long_option(command, name);
  return option != nullptr || flag.starts_with("--") ? option : last_letter(command, name);
}

// How many words follow this flag of another launcher.
int words_after_habit(const std::string& name) {
  for (const Habit& habit : habits()) {
    const Words names = split(habit.names, ' ');
    const auto is = [&](const std::string& one) { return one == name || one == "-" + name; };
    if (std::any_of(names.begin(), names.end(), is)) return habit.values;
  }
  return 0;
}

class LineReader {
 public:
  LineReader(const CLI::App& app, const Words& words) : command_(&app), words_(words) {}

  Completion read() {
    for (; at_ + 1 < words_.size(); ++at_) {
      const CLI::App* next = command_named(*command_, words_[at_]);
      if (next == nullptr) break;
      command_ = next;
    }
    for (; at_ + 1 < words_.size() && !is_in_program_; ++at_) pass(words_[at_]);
    result_.typed = words_.empty() ? "" : words_.back();
    finish();
    return result_;
  }

 private:
  [[nodiscard]] bool takes_program() const {
    const std::string word = trainflags::program_word(*command_);
    return !word.empty() && !word.starts_with("--");
  }

  void pass(const std::string& word) {
    if (value_of_ != nullptr) {
      note(*value_of_, word);
      value_of_ = nullptr;
    } else if (to_skip_ > 0) {
      --to_skip_;
    } else if (word == "--") {
      is_in_program_ = true;
      program_at_ = at_ + 1;
    } else if (word.size() > 1 && word.starts_with('-')) {
      pass_flag(with_dashes(word));
    } else if (takes_program()) {
      is_in_program_ = true;
      program_at_ = at_;
    } else {
      ++arguments_;
    }
  }

  void pass_flag(const std::string& word) {
    const std::size_t equals = word.find('=');
    const CLI::Option* option = option_in(*command_, word);
    if (takes_value(option) && equals != std::string::npos) note(*option, word.substr(equals + 1));
    if (equals != std::string::npos) return;
    if (takes_value(option)) value_of_ = option;
    if (option == nullptr) to_skip_ = words_after_habit(word);
  }

  void note(const CLI::Option& option, const std::string& value) {
    if (option.check_lname("hostfile")) result_.hostfile = value;
    if (option.check_lname("config")) result_.config = value;
    if (option.check_lname("profile")) result_.profile = value;
  }

  void finish() {
    const std::string& word = result_.typed;
    if (is_in_program_) {
      result_.wanted = program_at_ + 1 == words_.size() ? Wanted::kProgram : Wanted::kFiles;
    } else if (value_of_ != nullptr) {
      offer_values(*value_of_);
    } else if (to_skip_ > 0) {
      result_.wanted = Wanted::kFiles;
    } else if (word.starts_with("--") && word.find('=') != std::string::npos) {
      offer_values_after_equals();
    } else if (word.starts_with('-')) {
      offer_flags();
    } else if (!command_->get_subcommands({}).empty()) {
      // If arguments_ is not 0, an earlier word was not a command, so offer nothing.
      if (arguments_ == 0) offer_commands(*command_);
    } else if (takes_program()) {
      result_.wanted = Wanted::kProgram;
    } else {
      offer_argument();
    }
  }

  void offer_values_after_equals() {
    const std::size_t value = result_.typed.find('=') + 1;
    const CLI::Option* option = option_in(*command_, with_dashes(result_.typed));
    result_.kept = result_.typed.substr(0, value);
    result_.typed.erase(0, value);
    if (takes_value(option)) offer_values(*option);
  }

  void offer_values(const CLI::Option& option) {
    for (const std::string& choice : trainflags::choices_of(option)) add(choice, "");
    if (!result_.candidates.empty()) return;
    const std::string word =
        option.get_positional() ? option.get_name(true) : trainflags::value_word(option);
    const CLI::App* parent = command_->get_parent();
    // Commands of `muster lab` take the lab's hosts, not the user's.
    const bool in_lab = parent != nullptr && parent->get_parent() != nullptr;
    for (const ValueKind& kind : kValueKinds) {
      const bool fits = kind.word == word && !(in_lab && kind.wanted == Wanted::kHosts);
      if (fits) result_.wanted = kind.wanted;
    }
  }

  void offer_flags() {
    for (const CLI::Option* option : command_->get_options()) {
      const auto& longs = option->get_lnames();
      if (!longs.empty()) add("--" + longs.front(), about(option->get_description()));
    }
  }

  void offer_commands(const CLI::App& command) {
    for (const CLI::App* one : command.get_subcommands({})) {
      add(one->get_name(), about(one->get_description()));
    }
  }

  // Completes the command in `muster man lab up`.
  void offer_named_commands() {
    const CLI::App* named = command_->get_parent();
    for (std::size_t i = 1; i + 1 < words_.size(); ++i) {
      const CLI::App* next = command_named(*named, words_[i]);
      if (next != nullptr) named = next;
    }
    offer_commands(*named);
  }

  void offer_argument() {
    const auto arguments =
        command_->get_options([](const CLI::Option* option) { return option->get_positional(); });
    if (arguments.empty()) return;
    const CLI::Option& last = *arguments.back();
    if (last.get_name(true) == "COMMAND") return offer_named_commands();
    if (arguments_ < arguments.size()) offer_values(*arguments[arguments_]);
    if (arguments_ >= arguments.size() && last.get_expected_max() > 1) offer_values(last);
  }

  void add(std::string word, std::string text) {
    result_.candidates.push_back({.word = std::move(word), .about = std::move(text)});
  }

  const CLI::App* command_;
  const Words& words_;
  Completion result_;
  std::size_t at_ = 0;
  std::size_t arguments_ = 0;
  std::size_t program_at_ = 0;
  int to_skip_ = 0;
  const CLI::Option* value_of_ = nullptr;  // not null: the next word is its value
  bool is_in_program_ = false;
};

// The word that tells the shell's function how to use the candidates, or what to offer instead.
std::string_view way_on(Wanted wanted) {
  switch (wanted) {
    case Wanted::kHosts:
      return "list";
    case Wanted::kFiles:
    case Wanted::kResults:
      return "files";
    case Wanted::kFolders:
      return "folders";
    case Wanted::kProgram:
      return "program";
    case Wanted::kWords:
    case Wanted::kRuns:
    case Wanted::kProfiles:
      return "words";
  }
  return {};
}

}  // namespace

Completion complete(const CLI::App& app, const Words& words) {
  return LineReader(app, words).read();
}

std::string answer_text(const Completion& completion) {
  std::string text(way_on(completion.wanted));
  for (const Candidate& one : completion.candidates) {
    // Skip words with control characters: nobody could type them, and they would break the format.
    if (!one.word.starts_with(completion.typed) || printable(one.word) != one.word) continue;
    text += "\n" + completion.kept + one.word;
    if (!one.about.empty()) text += "\t" + printable(one.about);
  }
  return text + "\n";
}

std::vector<Candidate> next_in_list(const std::string& list, const Words& hosts) {
  const std::size_t comma = list.rfind(',');
  const std::string before = comma == std::string::npos ? "" : list.substr(0, comma + 1);
  Words used = split(before, ',');
  for (std::string& one : used) one = one.substr(0, one.find(':'));
  std::vector<Candidate> candidates;
  for (const std::string& host : hosts) {
    const bool is_used = std::find(used.begin(), used.end(), host) != used.end();
    if (!is_used) candidates.push_back({.word = before + host});
  }
  return candidates;
}

}  // namespace muster::cli
