// A Python script is started as torchrun starts it, with no interpreter named. Pure.
#pragma once

#include <string>
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

}  // namespace muster::cli
