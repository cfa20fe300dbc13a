#include "facts/interpreter.hpp"

#include "facts/elf.hpp"
#include "sys/path_search.hpp"

namespace muster::facts {
namespace {

constexpr std::size_t kLineBytes = 255;  // the kernel's BINPRM_BUF_SIZE without the NUL
constexpr std::string_view kBlank = " \t";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// The program that `env` would start; empty if options or variables make that unclear.
std::string program_of_env(std::string_view argument) {
  if (argument.starts_with("-S")) {
    argument = without_blanks(argument.substr(2));
    argument = argument.substr(0, argument.find_first_of(kBlank));
  }
  const bool is_plain =
      !argument.starts_with('-') && argument.find_first_of("='\"\\$") == std::string_view::npos;
  return is_plain ? std::string(argument) : "";
}

}  // namespace

std::optional<Shebang> parse_shebang(std::string_view file) {
  if (!file.starts_with("#!")) return std::nullopt;
  std::string_view line = file.substr(2, kLineBytes - 2);
  line = without_blanks(line.substr(0, line.find_first_of(std::string_view("\n\0", 2))));
  const std::size_t end = line.find_first_of(kBlank);
  if (line.empty()) return std::nullopt;
  if (end == std::string_view::npos) return Shebang{.interpreter = std::string(line)};
  return Shebang{.interpreter = std::string(line.substr(0, end)),
                 .argument = std::string(without_blanks(line.substr(end)))};
}

std::string script_interpreter(std::string_view file, const std::string& folder,
                               std::string_view path) {
  const auto shebang = parse_shebang(file);
  if (!shebang) return {};
  if (!shebang->interpreter.ends_with("/env")) {
    return sys::find_in_path(shebang->interpreter, "", folder);
  }
  return sys::find_in_path(program_of_env(shebang->argument), path, folder);
}

std::string missing_interpreter(std::string_view file, const std::string& folder,
                                std::string_view path) {
  if (is_elf(file)) {
    const auto loader = elf_interpreter(file);
    return loader && sys::find_in_path(*loader, path, folder).empty() ? *loader : "";
  }
  const auto shebang = parse_shebang(file);
  if (!shebang) return {};
  const std::string& interpreter = shebang->interpreter;
  // The kernel does not search PATH: a bare name refers to the current folder.
  if (sys::find_in_path(interpreter, "", folder).empty()) return interpreter;
  if (!interpreter.ends_with("/env")) return {};
  const std::string program = program_of_env(shebang->argument);
  return !program.empty() && sys::find_in_path(program, path, folder).empty() ? program : "";
}

}  // namespace muster::facts
