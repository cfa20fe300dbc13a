#include "cli/usage.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/manual.hpp"
#include "cli/meant.hpp"
#include "trainflags/help.hpp"

namespace muster::cli {
namespace {

Error mistake(std::string what, std::string hint) {
  return {.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)};
}

Error no_such_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  const std::string name = meant(word, known);
  const std::string app_name = full_name(app);
  return mistake(app.get_parent() == nullptr
                     ? fmt::format("there is no command '{}'", word)
                     : fmt::format("{} has no command '{}'", app_name, word),
                 name.empty() ? fmt::format("{} --help lists the commands", app_name)
                              : fmt::format("did you mean {} {}?", app_name, name));
}

const CLI::Option* option_named(const CLI::App& command, const std::string& name) {
  const auto found =
      command.get_options([&](const CLI::Option* option) { return option->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

std::string reworded(const CLI::App& command, const CLI::ParseError& error) {
  const std::string what = error.what();
  const std::string kind = error.get_name();
  if (kind == "ArgumentMismatch" && what.ends_with(" missing")) {
    const std::string name = what.substr(0, what.find(':'));
    const CLI::Option* option = option_named(command, name);
    const std::string word = option == nullptr ? "" : trainflags::value_word(*option);
    return fmt::format("{} needs a value{}", name,
                       word.empty() ? "" : fmt::format(": {} {}", name, word));
  }
  return in_plain_words(error);
}

}  // namespace

// CLI11 begins most messages with "NAME: ".
std::string in_plain_words(const CLI::ParseError& error) {
  std::string what = error.what();
  const auto replace = [&what](std::string_view old, std::string_view better) {
    for (std::size_t at = what.find(old); at != std::string::npos;
         at = what.find(old, at + better.size())) {
      what.replace(at, old.size(), better);
    }
  };
  replace(": At Most 1 required but received", " takes one value and got");
  replace(" excludes ", " cannot be combined with ");
  if (what.find(" not in {") != std::string::npos && what.ends_with('}')) {
    replace(" not in {", " is not one of ");
    replace(",", ", ");
    what.pop_back();
  }
  replace("Value ", "");
  replace(" not in range ", " is not in the range ");
  replace(".000000", "");  // CLI11 writes this after whole numbers
  if (const std::string start = "Could not convert: "; what.starts_with(start)) {
    what = what.substr(start.size());
    replace(" = ", ": '");
    what += "' is not a whole number, or too large";
  }
  return what;
}

const CLI::App* named_command(const CLI::App* app, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto found =
        app->get_subcommands([&](const CLI::App* command) { return command->get_name() == word; });
    if (found.empty()) break;
    app = found.front();
  }
  return app;
}

Error unknown_flag(const CLI::App& command, const std::string& flag) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string name = flag.substr(0, flag.find('='));
  const std::string right = meant(name, known);
  return mistake(fmt::format("{} has no flag {}", full_name(command), name),
                 right.empty() ? fmt::format("{} --help lists the flags", full_name(command))
                               : fmt::format("did you mean {}?", right));
}

Error usage_error(const CLI::App& app, const std::vector<std::string>& words,
                  const CLI::ParseError& error) {
  const CLI::App& command = *named_command(&app, words);
  const std::vector<std::string> unknown = command.remaining();
  const auto flag = std::find_if(unknown.begin(), unknown.end(), [](const std::string& word) {
    return word.size() > 1 && word.starts_with('-');
  });
  if (flag != unknown.end()) return unknown_flag(command, *flag);
  if (!command.get_subcommands({}).empty()) {
    if (!unknown.empty()) return no_such_command(command, unknown.front());
    return mistake("no command was given",
                   fmt::format("{} --help lists the commands", full_name(command)));
  }
  const std::string hint = fmt::format("{} --help", full_name(command));
  if (!unknown.empty()) {
    return mistake(fmt::format("{} does not take '{}'", full_name(command), unknown.front()), hint);
  }
  return mistake(reworded(command, error), hint);
}

}  // namespace muster::cli
