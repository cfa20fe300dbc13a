// The PyTorch that a host's programs would use.
#pragma once

#include <chrono>
#include <optional>

#include "facts/facts.hpp"
#include "facts/mpi.hpp"

namespace muster::facts {

// The torch beside the torchrun in PATH. Examines only files, because importing torch takes
// seconds.
[[nodiscard]] Torch read_torch(const Variables& environment, const Cpu& cpu);

// The folder of the torch that belongs to this torchrun; empty if not found.
[[nodiscard]] std::string torch_folder_beside(const std::string& torchrun);

// What a Python interpreter reports about itself.
struct Python {
  std::string version;                     // "3.11.2"; "3.13.1t" for a free-threaded one
  std::string executable;                  // the interpreter itself if `python3` is a wrapper
  std::string torch_folder = {};           // folder of the torch that it would import; empty: none
  std::vector<std::string> sys_path = {};  // without the folder in which it was started
};

// Asks the interpreter, which knows .pth files, virtual environments and PYTHONPATH. It looks for
// torch without importing it.
[[nodiscard]] Result<Python> ask_python(const std::string& python, const Variables& environment,
                                        std::chrono::milliseconds deadline);

// The version of the torch in this folder; empty if unknown.
[[nodiscard]] std::string torch_version_in(const std::string& folder);

// The value of a name in torch/version.py: "12.4" for `cuda: Optional[str] = '12.4'`. Nothing if
// there is no such line, and empty for None.
[[nodiscard]] std::optional<std::string> value_in_version_py(std::string_view version_py,
                                                             std::string_view name);

// The version, such as "2.13.0+cpu", in the text of torch/version.py; empty if there is none.
[[nodiscard]] std::string torch_version(std::string_view version_py);

}  // namespace muster::facts
