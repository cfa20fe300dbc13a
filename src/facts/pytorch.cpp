#include "facts/pytorch.hpp"

#include <algorithm>
#include <filesystem>

#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

// PREFIX/bin/torchrun belongs to PREFIX/lib/python3.N/site-packages; Debian's own to dist-packages.
std::string version_beside(const std::string& torchrun) {
  const std::string prefix = std::filesystem::path(torchrun).parent_path().parent_path();
  for (const std::string& name : names_in(prefix + "/lib")) {
    if (!name.starts_with("python")) continue;
    for (const char* packages : {"/site-packages", "/dist-packages"}) {
      const auto text = read_start(prefix + "/lib/" + name + packages + "/torch/version.py");
      if (text) return torch_version(*text);
    }
  }
  return {};
}

}  // namespace

std::string torch_version(std::string_view version_py) {
  constexpr std::string_view kKey = "__version__";
  for (std::string_view line : split(version_py, '\n')) {
    if (!line.starts_with(kKey)) continue;
    const std::size_t open = line.find_first_of("'\"");
    const std::size_t close =
        open == std::string_view::npos ? open : line.find(line[open], open + 1);
    if (close == std::string_view::npos) continue;
    return std::string(line.substr(open + 1, close - open - 1));
  }
  return {};
}

Torch read_torch(const Variables& environment, const Cpu& cpu) {
  const auto path = environment.find("PATH");
  if (path == environment.end()) return {};
  Torch torch{.torchrun = find_in_path("torchrun", path->second)};
  if (torch.torchrun.empty()) return torch;
  torch.version = version_beside(torch.torchrun);
  torch.threads = std::min(std::max(cpu.cores, 1), std::max(cpu.usable, 1));
  const auto asked = environment.find("OMP_NUM_THREADS");
  if (asked != environment.end()) {
    torch.threads = number<int>(asked->second).value_or(torch.threads);
  }
  return torch;
}

}  // namespace muster::facts
