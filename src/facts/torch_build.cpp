#include "facts/torch_build.hpp"

#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "facts/elf.hpp"
#include "facts/mapped_file.hpp"
#include "facts/pseudo_file.hpp"
#include "facts/pytorch.hpp"
#include "sys/path_search.hpp"

namespace muster::facts {
namespace {

constexpr std::size_t kHeaderBytes = std::size_t{64} << 10;

std::string folder_of_torch(const Facts& facts) {
  if (facts.program && !facts.program->torch_folder.empty()) return facts.program->torch_folder;
  return facts.torch.torchrun.empty() ? "" : torch_folder_beside(facts.torch.torchrun);
}

std::string version_of_library(const std::string& path, std::string_view words_before) {
  const auto file = MappedFile::open(path);
  return file ? version_behind(elf_constants(file->bytes()), words_before) : std::string();
}

// NCCL from a wheel is next to torch's folder. A torch from conda, or one that was built on this
// machine, has NCCL in its own folder.
std::string read_nccl(const std::string& torch) {
  const std::string packages = torch.substr(0, torch.rfind('/'));
  for (const std::string& header :
       {packages + "/nvidia/nccl/include/nccl.h", torch + "/include/nccl.h"}) {
    const std::string version =
        nccl_version_in_header(read_start(header, kHeaderBytes).value_or(""));
    if (!version.empty()) return version;
  }
  for (const std::string& library :
       {packages + "/nvidia/nccl/lib/libnccl.so.2", torch + "/lib/libnccl.so.2"}) {
    if (std::string version = version_of_library(library, "NCCL version "); !version.empty()) {
      return version;
    }
  }
  return {};
}

std::string read_rccl(const std::string& torch) {
  for (const std::string& library : {torch + "/lib/librccl.so", torch + "/lib/librccl.so.1"}) {
    if (std::string version = version_of_library(library, "RCCL version "); !version.empty()) {
      return version;
    }
  }
  return nccl_version_in_header(
      read_start("/opt/rocm/include/rccl/rccl.h", kHeaderBytes).value_or(""));
}

// The plugin's version, or its path if the version is unknown; empty if there is no plugin.
std::string read_ofi_plugin(const Variables& environment) {
  const auto variable = environment.find("LD_LIBRARY_PATH");
  std::vector<std::string> folders = variable == environment.end()
                                         ? std::vector<std::string>()
                                         : sys::path_folders(variable->second);
  for (const char* folder :
       {"/opt/amazon/ofi-nccl/lib", "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
        "/opt/amazon/ofi-nccl/lib/aarch64-linux-gnu", "/opt/aws-ofi-nccl/lib"}) {
    folders.emplace_back(folder);
  }
  for (const std::string& folder : folders) {
    for (const char* name : {"/libnccl-net-ofi.so", "/libnccl-net.so"}) {
      const std::string path = folder + name;
      if (::access(path.c_str(), R_OK) != 0) continue;
      std::string version = version_of_library(path, "aws-ofi-nccl ");
      return version.empty() ? path : version;
    }
  }
  return {};
}

// "ccl" comes from Intel's bindings, a package next to torch. "xccl" is part of a PyTorch for
// Intel's GPUs since 2.8, which then also has the header of its process group.
std::vector<std::string> oneccl_backends(const std::string& torch, const std::string& xpu) {
  std::vector<std::string> backends;
  const std::string packages = torch.substr(0, torch.rfind('/'));
  if (::access((packages + "/oneccl_bindings_for_pytorch").c_str(), R_OK) == 0) {
    backends.emplace_back("ccl");
  }
  const std::string header = torch + "/include/torch/csrc/distributed/c10d/ProcessGroupXCCL.hpp";
  if (!xpu.empty() && ::access(header.c_str(), R_OK) == 0) backends.emplace_back("xccl");
  return backends;
}

int defined(std::string_view header, std::string_view name) {
  for (const std::string_view line : split(header, '\n')) {
    const auto parts = words(line);
    if (parts.size() >= 3 && parts[0] == "#define" && parts[1] == name) {
      return number<int>(parts[2]).value_or(-1);
    }
  }
  return -1;
}

}  // namespace

std::string nccl_version_in_header(std::string_view header) {
  const int major = defined(header, "NCCL_MAJOR");
  const int minor = defined(header, "NCCL_MINOR");
  const int patch = defined(header, "NCCL_PATCH");
  if (major < 0 || minor < 0 || patch < 0) return {};
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string version_behind(std::string_view constants, std::string_view words_before) {
  while (!constants.empty()) {
    const void* const at =
        ::memmem(constants.data(), constants.size(), words_before.data(), words_before.size());
    if (at == nullptr) return {};
    constants.remove_prefix(
        static_cast<std::size_t>(static_cast<const char*>(at) - constants.data()) +
        words_before.size());
    const std::string_view version =
        constants.substr(0, std::min(constants.find_first_not_of("0123456789."), constants.size()));
    const bool good = version.size() >= 3 && version.size() <= 16 && version.front() != '.' &&
                      version.find('.') != std::string_view::npos;
    if (good) return std::string(version.substr(0, version.find_last_not_of('.') + 1));
  }
  return {};
}

void read_torch_build(const Variables& environment, Facts& facts) {
  const std::string folder = folder_of_torch(facts);
  if (folder.empty()) return;
  const std::string text = read_start(folder + "/version.py").value_or("");
  const auto cuda = value_in_version_py(text, "cuda");
  const auto hip = value_in_version_py(text, "hip");
  Torch& torch = facts.torch;
  const auto xpu = value_in_version_py(text, "xpu");
  torch.backends = oneccl_backends(folder, xpu.value_or(""));
  if (!cuda && !hip) return;
  torch.cuda = printable(cuda.value_or(""));
  torch.rocm = printable(hip.value_or(""));
  torch.xpu = printable(xpu.value_or(""));
  torch.uses_gpus = !torch.cuda.empty() || !torch.rocm.empty() || !torch.xpu.empty();
  if (facts.gpus.empty()) return;
  if (!torch.cuda.empty()) torch.nccl = read_nccl(folder);
  if (!torch.rocm.empty()) torch.nccl = read_rccl(folder);
  torch.ofi_plugin = read_ofi_plugin(environment);
}

}  // namespace muster::facts
