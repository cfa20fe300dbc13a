#include "cli/python_program.hpp"

namespace muster::cli {
namespace {

constexpr const char* kPython =
    "python3";  // of the activated environment, and of systems without one

bool needs_python(const std::string& name, const ScriptHere& here) {
  if (!name.ends_with(".py")) return false;
  if (name.find('/') != std::string::npos) return !here.runs_itself;
  return here.in_folder || !here.in_path;
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

}  // namespace muster::cli
