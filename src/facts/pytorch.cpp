#include "facts/pytorch.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "base/environment.hpp"
#include "facts/pseudo_file.hpp"
#include "sys/path_search.hpp"
#include "sys/process.hpp"

namespace muster::facts {
namespace {

// Removes the current folder from sys.path, because Python is not started in the job's folder here.
constexpr const char* kQuestion = R"(
import os, sys
sys.path = [folder for folder in sys.path if folder]
from importlib.util import find_spec
torch = find_spec("torch")
said = [sys.version.split()[0] + sys.abiflags, sys.executable or "", torch and torch.origin or ""]
sys.stdout.flush()
sys.stdout.buffer.write(b"\nmuster:" + b"\0".join(map(os.fsencode, said + sys.path)) + b"\n")
)";
constexpr std::size_t kMostFolders = 256;  // in sys.path

// The program inherits our own environment too. Variables of Python and the dynamic loader that the
// activation unset would keep our values, so they are made empty, which both ignore.
std::vector<std::string> python_environment(const Variables& environment) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : own_environment()) {
    if (name.starts_with("PYTHON") || name.starts_with("LD_")) entries.push_back(name + "=");
  }
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace

// PREFIX/bin/torchrun belongs to PREFIX/lib/python3.N/site-packages, or to dist-packages on Debian.
std::string torch_folder_beside(const std::string& torchrun) {
  const std::string prefix = std::filesystem::path(torchrun).parent_path().parent_path();
  for (const std::string& name : names_in(prefix + "/lib")) {
    if (!name.starts_with("python")) continue;
    for (const char* packages : {"/site-packages", "/dist-packages"}) {
      std::string folder = prefix + "/lib/" + name + packages + "/torch";
      if (read_start(folder + "/version.py")) return folder;
    }
  }
  return {};
}

Result<Python> ask_python(const std::string& python, const Variables& environment,
                          std::chrono::milliseconds deadline) {
  const sys::Command command{.argv = {python, "-c", kQuestion},
                             .env = python_environment(environment),
                             .deadline = deadline};
  MUSTER_TRY(const sys::Ended ended, sys::run(command));
  constexpr std::string_view kMark = "\nmuster:";
  const std::size_t at = ended.out.rfind(kMark);  // after the output of the user's startup files
  std::string_view answer(ended.out);
  answer.remove_prefix(at == std::string::npos ? answer.size() : at + kMark.size());
  const auto said = split(answer.substr(0, answer.find('\n')), '\0');
  if (!ended.ok() || said.size() < 3) {
    return unexpected(Error{.what = fmt::format("{}: {}", python, to_text(ended))});
  }
  Python found{.version = std::string(said[0]),
               .executable = std::string(said[1]),
               .torch_folder = std::filesystem::path(said[2]).parent_path().string()};
  for (std::size_t i = 3; i < said.size() && i < kMostFolders; ++i) {
    found.sys_path.emplace_back(said[i]);
  }
  return found;
}

std::string torch_version_in(const std::string& folder) {
  return torch_version(read_start(folder + "/version.py").value_or(""));
}

std::optional<std::string> value_in_version_py(std::string_view version_py, std::string_view name) {
  for (std::string_view line : split(version_py, '\n')) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    if (rest.empty() || std::string_view(" :=").find(rest.front()) == std::string_view::npos)
      continue;
    if (trimmed(line).ends_with("None")) return std::string();
    const std::size_t open = line.find_first_of("'\"");
    const std::size_t close =
        open == std::string_view::npos ? open : line.find(line[open], open + 1);
    if (close == std::string_view::npos) continue;
    return std::string(line.substr(open + 1, close - open - 1));
  }
  return std::nullopt;
}

std::string torch_version(std::string_view version_py) {
  return value_in_version_py(version_py, "__version__").value_or("");
}

Torch read_torch(const Variables& environment, const Cpu& cpu) {
  const auto path = environment.find("PATH");
  if (path == environment.end()) return {};
  Torch torch{.torchrun = sys::find_in_path("torchrun", path->second)};
  if (torch.torchrun.empty()) return torch;
  torch.version = torch_version_in(torch_folder_beside(torch.torchrun));
  torch.threads = std::min(std::max(cpu.cores, 1), std::max(cpu.usable, 1));
  const auto asked = environment.find("OMP_NUM_THREADS");
  if (asked != environment.end()) {
    torch.threads = number<int>(asked->second).value_or(torch.threads);
  }
  return torch;
}

}  // namespace muster::facts
