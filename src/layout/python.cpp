#include "layout/python.hpp"

#include <string_view>

namespace muster::layout {
namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

using Words = std::span<const std::string>;

// Returns the code that words[at] names; nothing if `at` is beyond the end.
std::optional<PythonCode> code_at(Words words, std::size_t at, bool is_module) {
  if (at >= words.size() || words[at].empty()) return std::nullopt;
  return PythonCode{.word = words[at], .is_module = is_module};
}

// Returns the code after the interpreter's own options, which `python --help` lists.
std::optional<PythonCode> code_after_options(Words words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word == "-") return std::nullopt;  // standard input
    if (word == "--") return code_at(words, at + 1, false);
    if (!word.starts_with('-')) return code_at(words, at, false);
    if (word == "--check-hash-based-pycs") ++at;
    if (word.starts_with("--")) continue;
    const std::size_t with_value = word.find_first_of("cmWX", 1);
    if (with_value == std::string_view::npos) continue;
    const bool is_apart = with_value + 1 == word.size();
    if (word[with_value] == 'c') return std::nullopt;
    if (word[with_value] == 'm') {
      if (is_apart) return code_at(words, at + 1, true);
      return PythonCode{.word = std::string(word.substr(with_value + 1)), .is_module = true};
    }
    if (is_apart) ++at;
  }
  return std::nullopt;
}

}  // namespace

bool is_interpreter(std::string_view program) {
  constexpr std::string_view kName = "python";
  const std::string_view name = base_name(program);
  return name.starts_with(kName) &&
         name.substr(kName.size()).find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_python(Words program) {
  if (program.empty()) return false;
  const std::string_view name = base_name(program.front());
  return name.starts_with("python") || name.ends_with(".py");
}

std::optional<PythonCode> python_code(Words program) {
  if (program.empty()) return std::nullopt;
  const std::string& first = program.front();
  if (is_interpreter(first)) return code_after_options(program.subspan(1));
  const bool is_script = first.ends_with(".py") && first.find('/') != std::string::npos;
  return is_script ? code_at(program, 0, false) : std::nullopt;
}

}  // namespace muster::layout
