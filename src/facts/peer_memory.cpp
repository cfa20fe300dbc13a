#include "facts/peer_memory.hpp"

#include <array>
#include <filesystem>

#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

std::string loaded_module(const std::string& root) {
  constexpr std::array<const char*, 3> kModules = {"nvidia_peermem", "nv_peer_mem", "ib_peer_mem"};
  std::error_code failed;
  for (const char* name : kModules) {
    if (std::filesystem::exists(root + "/sys/module/" + name, failed)) return name;
  }
  return "";
}

bool has_line(const std::string& text, std::string_view wanted) {
  for (const std::string_view line : split(text, '\n')) {
    if (line == wanted) return true;
  }
  return false;
}

// Whether the kernel supports dmabuf. RCCL makes the same test before it uses dmabuf.
std::optional<bool> kernel_can(const std::string& kernel, const std::string& root) {
  constexpr std::size_t kLongest = std::size_t{1} << 20;
  const auto options = read_start(root + "/boot/config-" + kernel, kLongest);
  if (!options) return std::nullopt;
  return has_line(*options, "CONFIG_PCI_P2PDMA=y") &&
         has_line(*options, "CONFIG_DMA_SHARED_BUFFER=y");
}

// Whether the driver supports dmabuf. Of NVIDIA's drivers only the open one does; amdgpu always
// does.
std::optional<bool> driver_can(const std::string& root) {
  std::error_code failed;
  const std::string nvidia = first_line(root + "/proc/driver/nvidia/version");
  if (!nvidia.empty()) return nvidia.find("Open Kernel Module") != std::string::npos;
  if (std::filesystem::exists(root + "/sys/module/amdgpu", failed)) return true;
  return std::nullopt;
}

}  // namespace

PeerMemory read_peer_memory(const std::string& kernel, const std::string& root) {
  PeerMemory memory{.module = loaded_module(root)};
  const auto first = kernel_can(kernel, root);
  const auto second = driver_can(root);
  if (first == false || second == false) {
    memory.dmabuf = false;
  } else if (first && second) {
    memory.dmabuf = true;
  }
  return memory;
}

}  // namespace muster::facts
