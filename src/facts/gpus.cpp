#include "facts/gpus.hpp"

#include <algorithm>
#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

#include "facts/gpu_vendors.hpp"
#include "facts/pseudo_file.hpp"
#include "facts/users.hpp"

namespace muster::facts {
namespace {

// Adds users and commands, because the tools report only PIDs.
void name_processes(const GpuSources& sources, std::vector<Gpu>& gpus) {
  for (Gpu& gpu : gpus) {
    for (GpuProcess& process : gpu.processes) {
      const std::string folder = sources.proc + "/" + std::to_string(process.pid);
      struct stat status{};
      if (::stat(folder.c_str(), &status) != 0) continue;
      process.user = name_of(read_users(status.st_uid, sources.deadline), status.st_uid);
      process.command = first_line(folder + "/comm");
    }
  }
}

}  // namespace

GpuSources gpu_sources(std::chrono::milliseconds deadline) {
  const char* path = std::getenv("PATH");                    // NOLINT(concurrency-mt-unsafe)
  const char* pod = std::getenv("KUBERNETES_SERVICE_HOST");  // NOLINT(concurrency-mt-unsafe)
  GpuSources sources{.deadline = deadline};
  // The PATH of a login without a terminal may lack these folders.
  sources.path = std::string(path == nullptr ? "" : path) +
                 ":/usr/bin:/usr/local/bin:/opt/rocm/bin:/usr/lib/wsl/lib";
  sources.in_container = pod != nullptr;
  for (const char* mark : {"/.dockerenv", "/run/.containerenv", "/dev/termination-log"}) {
    if (::access(mark, F_OK) == 0) sources.in_container = true;
  }
  return sources;
}

GpuReport read_gpus(const GpuSources& sources) {
  GpuReport report;
  read_nvidia_gpus(sources, report);
  read_amd_gpus(sources, report);
  read_intel_gpus(sources, report);
  name_processes(sources, report.gpus);
  return report;
}

std::string nvidia_driver_version(std::string_view text) {
  for (const std::string_view word : words(text.substr(0, text.find('\n')))) {
    const bool is_version = word.find('.') != std::string_view::npos &&
                            word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (is_version) return std::string(word);
  }
  return {};
}

// According to the release notes of CUDA, which name the driver that came with each version.
std::string cuda_of_driver(std::string_view driver) {
  constexpr std::pair<int, const char*> kVersions[] = {
      {440, "10.2"}, {450, "11.0"}, {455, "11.1"}, {460, "11.2"}, {465, "11.3"}, {470, "11.4"},
      {495, "11.5"}, {510, "11.6"}, {515, "11.7"}, {520, "11.8"}, {525, "12.0"}, {530, "12.1"},
      {535, "12.2"}, {545, "12.3"}, {550, "12.4"}, {555, "12.5"}, {560, "12.6"}, {565, "12.7"},
      {570, "12.8"}, {575, "12.9"}, {580, "13.0"}, {590, "13.1"}};
  const int branch = number<int>(driver.substr(0, driver.find('.'))).value_or(0);
  std::string cuda;
  for (const auto& [first, version] : kVersions) {
    if (branch >= first) cuda = version;
  }
  return cuda;
}

}  // namespace muster::facts
