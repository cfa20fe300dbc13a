#include "cli/manual.hpp"

#include <algorithm>
#include <cctype>

#include "base/exit_code.hpp"
#include "trainflags/help.hpp"

namespace muster::cli {
namespace {

constexpr std::string_view kExamples = "Examples:";

// Escapes text so that roff shows it unchanged and hyphens can be copied.
std::string plain(std::string_view text) {
  std::string out;
  for (const char one : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (one == '.' || one == '\'')) out += "\\&";
    if (one == '\\') {
      out += "\\e";
    } else if (one == '-') {
      out += "\\-";
    } else {
      out += one;
    }
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

std::string row(const std::string& left, const std::string& right) {
  const std::size_t begin = left.find_first_not_of(' ');
  return ".TP\n\\fB" + plain(left.substr(begin)) + "\\fR\n" + plain(right) + "\n";
}

std::string groups_text(const std::string& title,
                        const std::vector<trainflags::HelpGroup>& groups) {
  if (groups.empty()) return {};
  std::string text = ".SH " + title + "\n";
  for (const trainflags::HelpGroup& group : groups) {
    if (groups.size() > 1) text += ".SS " + plain(group.title) + "\n";
    for (const trainflags::HelpRow& one : group.rows) text += row(one.left, one.right);
  }
  return text;
}

// Formats a footer: paragraphs are filled, and lines that begin with a blank stay as they are.
std::string prose(std::string_view footer) {
  std::string text;
  bool verbatim = false;
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 1, footer.size()));
    const bool is_verbatim = line.starts_with(' ');
    if (is_verbatim != verbatim) text += is_verbatim ? ".PP\n.nf\n" : ".fi\n";
    verbatim = is_verbatim;
    if (line == kExamples) {
      text += ".SH EXAMPLES\n";
    } else {
      text += line.empty() ? ".PP\n" : plain(line) + "\n";
    }
  }
  return verbatim ? text + ".fi\n" : text;
}

// Removes blank lines at the end.
std::string without_end(std::string text) {
  text.resize(text.find_last_not_of('\n') + 1);
  return text;
}

std::string exit_status() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitCode& one : kExitCodes) {
    text += row(std::string(one.code), std::string(one.meaning));
  }
  return text;
}

std::string see_also(const CLI::App& command) {
  std::string text;
  const auto add = [&](const CLI::App& other) {
    text += (text.empty() ? "" : ",\n") + (".BR " + plain(full_name(other, '-')) + " (1)");
  };
  if (command.get_parent() != nullptr) add(*command.get_parent());
  for (const CLI::App* one : command.get_subcommands({})) add(*one);
  return ".SH SEE ALSO\n" + text + "\n";
}

}  // namespace

std::string full_name(const CLI::App& command, char separator) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name()
                           : full_name(*parent, separator) + separator + command.get_name();
}

std::string manual_page(const CLI::App& command, const std::string& version) {
  const std::string page = full_name(command, '-');
  const std::string footer = command.get_footer();
  const std::size_t examples = std::min(footer.find(kExamples), footer.size());
  const std::string more = without_end(footer.substr(0, examples));
  const std::string note = trainflags::note_about_seconds(command);
  return ".TH " + plain(upper(page)) + " 1 \"\" \"muster " + version + "\" \"muster\"\n" +
         ".SH NAME\n" + plain(page) + " \\- " + plain(command.get_description()) + "\n" +
         ".SH SYNOPSIS\n.B " + plain(trainflags::usage_line(command, full_name(command))) + "\n" +
         (more.empty() ? "" : ".SH DESCRIPTION\n" + prose(more)) +
         groups_text("COMMANDS", trainflags::command_groups(command)) +
         groups_text("OPTIONS", trainflags::option_groups(command)) +
         (note.empty() ? "" : ".PP\n" + plain(note) + "\n") + exit_status() +
         prose(footer.substr(examples)) + see_also(command);
}

}  // namespace muster::cli
