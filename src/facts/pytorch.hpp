// The PyTorch that a host's programs would find.
#pragma once

#include <chrono>
#include <optional>

#include "facts/facts.hpp"
#include "facts/mpi.hpp"

namespace muster::facts {

// The torch beside the torchrun in PATH. Looks at files only: importing torch takes seconds.
[[nodiscard]] Torch read_torch(const Variables& environment, const Cpu& cpu);

// The folder of the torch beside this torchrun; empty: not found.
[[nodiscard]] std::string torch_folder_beside(const std::string& torchrun);

// What a Python interpreter says of itself.
struct Python {
  std::string version;                     // "3.11.2"; "3.13.1t" for a free-threaded one
  std::string executable;                  // the real one, where `python3` is a wrapper
  std::string torch_folder = {};           // of the torch that it would import; empty: none
  std::vector<std::string> sys_path = {};  // without the folder that it was started in
};

// Asks the interpreter, which heeds .pth files, virtual environments and PYTHONPATH, and looks for
// torch without importing it.
[[nodiscard]] Result<Python> ask_python(const std::string& python, const Variables& environment,
                                        std::chrono::milliseconds deadline);

// The version of the torch in this folder; empty: it does not tell.
[[nodiscard]] std::string torch_version_in(const std::string& folder);

// The text that torch/version.py gives to a name: "12.4" for `cuda: Optional[str] = '12.4'`.
// Nothing: no such line; empty: None.
[[nodiscard]] std::optional<std::string> value_in_version_py(std::string_view version_py,
                                                             std::string_view name);

// "2.13.0+cpu" out of torch/version.py; empty: it does not tell.
[[nodiscard]] std::string torch_version(std::string_view version_py);

}  // namespace muster::facts
