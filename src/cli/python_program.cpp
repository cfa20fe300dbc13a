#include "cli/python_program.hpp"

#include <algorithm>
#include <array>

#include "engines/kind.hpp"

namespace muster::cli {
namespace {

constexpr const char* kPython =
    "python3";  // of the activated environment, or of the system if there is none

bool needs_python(const std::string& name, const ScriptHere& here) {
  if (!name.ends_with(".py")) return false;
  if (name.find('/') != std::string::npos) return !here.runs_itself;
  return here.in_folder || !here.in_path;
}

bool is_python(std::string_view program) {
  return program.substr(program.rfind('/') + 1).starts_with("python");
}

// The whole identifier that begins at `at`.
std::string_view name_at(std::string_view code, std::size_t at) {
  constexpr std::string_view kOfNames = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return code.substr(at, code.find_first_not_of(kOfNames, at) - at);
}

}  // namespace

std::vector<std::string> with_interpreter(std::vector<std::string> program, bool is_module,
                                          const ScriptHere& here) {
  if (program.empty()) return program;
  if (is_module) {
    program.insert(program.begin(), {kPython, "-m"});
  } else if (needs_python(program.front(), here)) {
    program.insert(program.begin(), kPython);
  }
  return program;
}

PythonCode python_code(const std::vector<std::string>& program) {
  if (program.empty()) return {};
  if (!is_python(program.front())) {
    return program.front().ends_with(".py") ? PythonCode{.files = {program.front()}} : PythonCode{};
  }
  for (std::size_t i = 1; i < program.size(); ++i) {
    const std::string& word = program[i];
    const std::string next = i + 1 < program.size() ? program[i + 1] : "";
    if (word == "-c") return {.text = next};
    if (word == "-m") {
      std::string path = next;
      std::replace(path.begin(), path.end(), '.', '/');
      return {.files = {path + ".py", path + "/__main__.py"}};
    }
    if (word == "-W" || word == "-X" || word == "--check-hash-based-pycs") {
      ++i;
    } else if (!word.starts_with('-')) {
      return {.files = {word}};
    }
  }
  return {};
}

std::string mpi_word(std::string_view code, const std::vector<std::string>& program) {
  for (const engines::RankVariables* variables : engines::rank_variables()) {
    for (const std::string_view start : variables->in_code) {
      const std::size_t at = code.find(start);
      if (at != std::string_view::npos) return std::string(name_at(code, at));
    }
  }
  constexpr std::array<std::string_view, 4> kWords = {"mpi4py", "\"mpi\"", "'mpi'", "cpu:mpi"};
  for (const std::string_view word : kWords) {
    if (code.find(word) != std::string_view::npos) return std::string(word);
  }
  const auto argument = std::find_if(program.begin(), program.end(), [](const std::string& word) {
    return word == "mpi" || word.ends_with("=mpi");
  });
  return argument == program.end() ? "" : *argument;
}

}  // namespace muster::cli
