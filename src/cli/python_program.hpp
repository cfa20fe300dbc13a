// Starts a Python script as torchrun does, without a named interpreter, and finds out whether it
// mentions MPI, which torchrun does not start. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

// What is known here of the file that the program names.
struct ScriptHere {
  bool in_folder = false;    // a file at that path, from the current folder
  bool in_path = false;      // a name that PATH finds
  bool runs_itself = false;  // may be executed and begins with "#!"
};

// The program with what starts it: "python3 train.py" for "train.py", unless its path is given and
// it runs by itself, or PATH finds it; "python3 -m package.train" for a module.
[[nodiscard]] std::vector<std::string> with_interpreter(std::vector<std::string> program,
                                                        bool is_module, const ScriptHere& here);

// The Python code that a program runs. Both empty: none, or unknown.
struct PythonCode {
  std::vector<std::string> files = {};  // use the first that exists, from the current folder
  std::string text = {};                // given as `python -c TEXT`
};
[[nodiscard]] PythonCode python_code(const std::vector<std::string>& program);

// The word with which the code or the program's arguments mention MPI: "OMPI_COMM_WORLD_RANK",
// "PMI_RANK", "mpi4py", "mpi" as the name of a backend. Empty: they do not. No proof that the
// program uses MPI, which may only be one of its options.
[[nodiscard]] std::string mpi_word(std::string_view code, const std::vector<std::string>& program);

}  // namespace muster::cli
