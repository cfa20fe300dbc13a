#include "facts/vendor_tool.hpp"

#include <fmt/format.h>

#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

// The tool runs below a shell, because the shell can always be ended and the tool sometimes cannot.
constexpr const char* kInBetween = "trap 'kill -9 $! 2>/dev/null; exit 143' TERM; \"$@\" & wait $!";
constexpr std::size_t kMostShown = 200;  // bytes

std::string last_line_of(std::string_view text) {
  text = trimmed(text);
  const std::size_t newline = text.rfind('\n');
  return printable(trimmed(text.substr(newline == std::string_view::npos ? 0 : newline + 1)))
      .substr(0, kMostShown);
}

}  // namespace

std::vector<Result<sys::Ended>> ask_tool(const std::string& tool,
                                         std::span<const ToolArguments> questions,
                                         std::chrono::milliseconds deadline) {
  std::vector<sys::Command> commands;
  for (const ToolArguments& arguments : questions) {
    sys::Command command{.argv = {"/bin/sh", "-c", kInBetween, "sh", tool}, .deadline = deadline};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    commands.push_back(std::move(command));
  }
  return sys::run_all(commands, commands.size());
}

std::string tool_failure(const std::string& name, const Result<sys::Ended>& ended,
                         std::chrono::milliseconds deadline) {
  if (!ended) return fmt::format("{}: {}", name, to_text(ended.error()));
  if (ended->timed_out) {
    return fmt::format("{} gave no answer within {:g} s", name,
                       std::chrono::duration<double>(deadline).count());
  }
  if (ended->ok()) return {};
  std::string said = last_line_of(ended->err);
  if (said.empty()) said = last_line_of(ended->out);
  return fmt::format("{} failed with {}{}{}", name, to_text(*ended), said.empty() ? "" : ": ",
                     said);
}

}  // namespace muster::facts
