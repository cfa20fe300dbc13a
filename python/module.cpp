// The MPI backend for Python. muster_torch/_c10d.py registers it with PyTorch.
#include <torch/csrc/utils/pybind.h>

#include "mpi/runtime.hpp"
#include "muster/mpi.hpp"
#include "recorder/server.hpp"

namespace muster::mpi {
namespace {

namespace py = pybind11;

Options with_timeout(double seconds) {
  // Infinite time-outs, and those that a clock cannot hold, become a very long time.
  constexpr double kMost = 1e9;
  const double bounded = seconds < kMost ? seconds : kMost;
  return {.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(bounded * 1000))};
}

py::dict found() {
  Loaded& loaded = loaded_library();
  py::dict result;
  result["library"] = loaded.path;
  result["why"] = loaded.why;
  result["abi"] = loaded.abi;
  result["tried"] = loaded.tried;
  return result;
}

py::dict begun() {
  constexpr const char* kLevels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                     "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
  Progress* progress = nullptr;
  {
    const py::gil_scoped_release without_gil;
    progress = &process_progress();
  }
  py::dict result;
  result["version"] = progress->library().version();
  result["thread_level"] = kLevels[static_cast<int>(process_thread_level())];
  result["cuda_messages"] = progress->library().cuda().messages;
  result["cuda_collectives"] = progress->library().cuda().collectives;
  result["rank"] = progress->world()->rank;
  result["size"] = progress->world()->size();
  return result;
}

}  // namespace

PYBIND11_MODULE(_backend, module) {
  module.def("look_also_in", &look_also_in);
  module.def("find", &found);
  module.def("begin", &begun);
  module.def("serve_records", &recorder::serve_records);
  module.def("stop_serving", &recorder::stop_serving, py::call_guard<py::gil_scoped_release>());
  module.def("settle", &settle, py::call_guard<py::gil_scoped_release>());
  module.def(
      "world", [](double timeout) { return backend(with_timeout(timeout)); },
      py::call_guard<py::gil_scoped_release>());
  module.def(
      "group",
      [](const std::vector<int>& ranks, double timeout) {
        return backend(ranks, with_timeout(timeout));
      },
      py::call_guard<py::gil_scoped_release>());
}

}  // namespace muster::mpi
