// Puts python3 before a Python script that is started without it, as torchrun does. Also finds out
// whether the script mentions MPI, which does not work under torchrun. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

// What this machine knows about the program's file.
struct ScriptHere {
  bool in_folder = false;    // a file at this path, relative to the current directory
  bool in_path = false;      // PATH contains a program of this name
  bool runs_itself = false;  // is executable and begins with "#!"
};

// The program with its interpreter: "python3 train.py" for "train.py", "python3 -m package.train"
// for a module. Unchanged if it is no .py file, if it is given with a directory and can run by
// itself, or if PATH has it and the current directory does not.
[[nodiscard]] std::vector<std::string> with_interpreter(std::vector<std::string> program,
                                                        bool is_module, const ScriptHere& here);

// The Python code that a program runs. Both fields are empty if there is none, or if it is unknown.
struct PythonCode {
  // The program runs the first of these that exists. Relative to the current directory.
  std::vector<std::string> files = {};
  std::string text = {};  // given as `python -c TEXT`
};
[[nodiscard]] PythonCode python_code(const std::vector<std::string>& program);

// The word by which the code or the program's arguments mention MPI, such as
// "OMPI_COMM_WORLD_RANK", "PMI_RANK", "mpi4py", or "mpi" as a backend; empty if there is none. It
// does not prove that the program uses MPI, which may only be one of its options.
[[nodiscard]] std::string mpi_word(std::string_view code, const std::vector<std::string>& program);

}  // namespace muster::cli
