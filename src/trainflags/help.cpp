#include "trainflags/help.hpp"

#include <algorithm>
#include <vector>

#include "report/wrap.hpp"

namespace muster::trainflags {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kTextColumn = 28;  // where descriptions begin
// The longest value word; longer choices are listed in the description.
constexpr std::size_t kLongestWord = 20;
// CLI11's default groups; such options are shown last.
constexpr const char* kOther = "Options";
constexpr const char* kOtherCommands = "Subcommands";

// Returns the accepted values as "a,b,c", from CLI11's type name "TEXT:{a,b,c}". Empty if any value
// is accepted.
std::string choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return type.substr(begin + 1, end - begin - 1);
}

std::string joined(std::string text, std::string_view separator) {
  for (std::size_t at = text.find(','); at != std::string::npos;
       at = text.find(',', at + separator.size())) {
    text.replace(at, 1, separator);
  }
  return text;
}

bool choices_are_short(const CLI::Option& option) {
  const std::string all = choices(option);
  return !all.empty() && all.size() <= kLongestWord;
}

// Returns "-H, --hosts HOSTS". A flag without a short name is indented as if it had one.
std::string left_side(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  const auto& shorts = option.get_snames();
  const auto& longs = option.get_lnames();
  std::string text = shorts.empty() ? "    " : "-" + shorts.front();
  if (!longs.empty()) text += (shorts.empty() ? "--" : ", --") + longs.front();
  const std::string word = value_word(option);
  return word.empty() ? text : text + " " + word;
}

// Returns " (also --host, -w)", or " (off: --no-augment)" for a flag with an opposite.
std::string other_names(const CLI::Option& option) {
  std::string names;
  std::string off;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  const auto& shorts = option.get_snames();
  const auto& longs = option.get_lnames();
  const auto& negative = option.get_fnames();
  for (std::size_t i = 1; i < longs.size(); ++i) {
    const bool is_off = std::find(negative.begin(), negative.end(), longs[i]) != negative.end();
    if (is_off) off = " (off: --" + longs[i] + ")";
    if (!is_off) add("--" + longs[i]);
  }
  for (std::size_t i = 1; i < shorts.size(); ++i) add("-" + shorts[i]);
  return (names.empty() ? "" : " (also " + names + ")") + off;
}

// Returns the description, followed by the option's choices, default and other spellings.
std::string right_side(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!choices(option).empty() && !choices_are_short(option) && !option.get_positional()) {
    text += ": " + joined(choices(option), ", ");
  }
  if (!option.get_default_str().empty()) text += " [default: " + option.get_default_str() + "]";
  if (option.get_required() && !option.get_positional()) text += " (required)";
  return text + other_names(option);
}

std::string row(const std::string& left, const std::string& right, std::size_t column) {
  std::string start = "  " + left;
  std::string text;
  if (start.size() + 2 > column) {
    text = start + "\n";
    start.clear();
  }
  start.resize(column, ' ');
  return text + report::indented(start, right, kWidth);
}

using OptionList = std::vector<const CLI::Option*>;

OptionList options_of(const CLI::App& app, const std::string& group, bool positional) {
  return app.get_options([&](const CLI::Option* option) {
    return option->get_positional() == positional && option->get_group() == group;
  });
}

void add_group(std::vector<HelpGroup>& groups, const std::string& title,
               const OptionList& options) {
  if (options.empty()) return;
  HelpGroup group{.title = title, .rows = {}};
  for (const CLI::Option* option : options) {
    group.rows.push_back({.left = left_side(*option), .right = right_side(*option)});
  }
  groups.push_back(std::move(group));
}

std::string groups_text(const std::vector<HelpGroup>& groups, std::size_t column) {
  std::string text;
  for (const HelpGroup& group : groups) {
    text += "\n" + group.title + ":\n";
    for (const HelpRow& one : group.rows) text += row(one.left, one.right, column);
  }
  return text;
}

std::string all_options(const CLI::App& app) {
  const std::string note = note_about_seconds(app);
  return groups_text(option_groups(app), kTextColumn) + (note.empty() ? "" : "\n" + note + "\n");
}

std::string commands_text(const CLI::App& app) {
  std::size_t longest = 0;
  for (const CLI::App* command : app.get_subcommands({})) {
    longest = std::max(longest, command->get_name().size());
  }
  return groups_text(command_groups(app), longest + 4);
}

std::string footer_text(std::string_view footer) {
  std::string text;
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 1, footer.size()));
    text += line.empty() || line.starts_with(' ') ? std::string(line) + "\n"
                                                  : report::indented("", line, kWidth);
  }
  return text.empty() ? text : "\n" + text;
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string program) : program_(std::move(program)) {}

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode /*mode*/) const override {
    return report::indented("", app->get_description(), kWidth) +
           "\nUsage: " + usage_line(*app, name) + "\n" + commands_text(*app) + all_options(*app) +
           footer_text(app->get_footer());
  }
  [[nodiscard]] const std::string& program() const { return program_; }

 private:
  std::string program_;
};

}  // namespace

std::string value_word(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string full = option.get_type_name();
  std::string word = full.substr(0, full.find(':'));
  if (word == "INT" || word == "UINT") return "N";
  if (word == "FLOAT") return "NUMBER";
  if (word != "TEXT") return word;
  if (choices_are_short(option)) return joined(choices(option), "|");
  // Derived from the flag's name: ENGINE for --engine.
  std::string name = option.get_lnames().empty() ? "VALUE" : option.get_lnames().front();
  name = name.substr(name.rfind('-') + 1);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return name;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  std::vector<std::string> words;
  std::string left = choices(option);
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(','), left.size());
    words.push_back(left.substr(0, end));
    left.erase(0, end + 1);
  }
  return words;
}

std::vector<HelpGroup> option_groups(const CLI::App& command) {
  std::vector<HelpGroup> groups;
  add_group(groups, "Arguments", options_of(command, kOther, true));
  for (const std::string& group : command.get_groups()) {
    if (group.empty() || group == kOther) continue;
    add_group(groups, group, options_of(command, group, false));
  }
  OptionList others = options_of(command, kOther, false);
  std::stable_partition(others.begin(), others.end(), [&](const CLI::Option* option) {
    return option != command.get_help_ptr();  // --help is shown last
  });
  add_group(groups, command.get_groups().size() > 1 ? "Other flags" : "Flags", others);
  return groups;
}

std::vector<HelpGroup> command_groups(const CLI::App& command) {
  std::vector<HelpGroup> groups;
  for (const CLI::App* one : command.get_subcommands({})) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const HelpGroup& known) {
      return known.title == one->get_group();
    });
    if (group == groups.end()) {
      group = groups.insert(group, HelpGroup{.title = one->get_group(), .rows = {}});
    }
    group->rows.push_back({.left = one->get_name(), .right = one->get_description()});
  }
  for (HelpGroup& group : groups) {
    if (group.title == kOtherCommands)
      group.title = groups.size() > 1 ? "More commands" : "Commands";
  }
  return groups;
}

std::string program_word(const CLI::App& command) {
  const auto* formatter = dynamic_cast<const HelpFormatter*>(command.get_formatter().get());
  return formatter == nullptr ? "" : formatter->program();
}

std::string note_about_seconds(const CLI::App& command) {
  const auto takes_seconds = [](const CLI::Option* one) { return value_word(*one) == "SECONDS"; };
  return command.get_options(takes_seconds).empty()
             ? ""
             : "SECONDS may have a unit: 90, 30s, 5m, 2h, 1h30m, 30d.";
}

std::string usage_line(const CLI::App& command, const std::string& name) {
  std::string usage = name;
  if (!command.get_subcommands({}).empty()) usage += " COMMAND";
  for (const CLI::Option* option : options_of(command, kOther, true)) {
    const bool many = option->get_expected_max() > 1;
    const std::string word = option->get_name(true) + (many ? "..." : "");
    usage += option->get_required() ? " " + word : " [" + word + "]";
  }
  usage += " [FLAGS]";
  const std::string program = program_word(command);
  return program.empty() ? usage : usage + " " + program;
}

std::shared_ptr<CLI::Formatter> help_formatter(std::string program) {
  return std::make_shared<HelpFormatter>(std::move(program));
}

}  // namespace muster::trainflags
