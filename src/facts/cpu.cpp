#include "facts/cpu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

// Sorted. The names are those in /proc/cpuinfo.
constexpr std::array<std::string_view, 32> kExtensions = {
    "amx_bf16", "amx_fp16", "amx_int8", "amx_tile",    "asimd",       "asimddp",     "asimdhp",
    "atomics",  "avx",      "avx2",     "avx512_bf16", "avx512_fp16", "avx512_vnni", "avx512bw",
    "avx512cd", "avx512dq", "avx512f",  "avx512ifma",  "avx512vbmi",  "avx512vl",    "avx_vnni",
    "bf16",     "bmi2",     "f16c",     "fma",         "fp",          "i8mm",        "sse4_1",
    "sse4_2",   "sve",      "sve2",     "svebf16"};
static_assert(std::is_sorted(kExtensions.begin(), kExtensions.end()));

// Reads the list of allowed CPUs from the text of /proc/PID/status.
std::string allowed_list(std::string_view status) {
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  for (const std::string_view line : split(status, '\n')) {
    if (line.starts_with(kKey)) return std::string(trimmed(line.substr(kKey.size())));
  }
  return {};
}

int affine_processors() {
  // Larger than any machine, because the kernel rejects a set smaller than its own.
  constexpr int kMost = 16384;
  cpu_set_t* const set = CPU_ALLOC(kMost);
  if (set == nullptr) return 0;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMost);
  CPU_ZERO_S(bytes, set);
  const int count = ::sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
  CPU_FREE(set);
  return count > 0 ? count : static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

void read_cpuinfo(std::string_view text, Cpu& cpu) {
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (key == "model name" && cpu.model.empty()) cpu.model = value;
    if ((key != "flags" && key != "Features") || !cpu.isa.empty()) continue;
    for (const std::string_view flag : words(value)) {
      if (std::binary_search(kExtensions.begin(), kExtensions.end(), flag)) {
        cpu.isa.emplace_back(flag);
      }
    }
    std::sort(cpu.isa.begin(), cpu.isa.end());
    return;  // the model precedes this line
  }
}

int count_cores(const std::string& root) {
  std::set<std::string> cores;
  for (const std::string& name : names_in(root + "/cpu")) {
    if (!name.starts_with("cpu") || !number<int>(std::string_view(name).substr(3))) continue;
    // This list is the same for all threads of a core.
    std::string threads = first_line(root + "/cpu/" + name + "/topology/thread_siblings_list");
    if (!threads.empty()) cores.insert(std::move(threads));
  }
  return static_cast<int>(cores.size());
}

int count_numa_nodes(const std::string& root) {
  const auto names = names_in(root + "/node");
  const auto count = std::count_if(names.begin(), names.end(), [](std::string_view name) {
    return name.starts_with("node") && number<int>(name.substr(4));
  });
  return std::max(1, static_cast<int>(count));
}

Cpu read_cpu() {
  Cpu cpu;
  utsname kernel{};
  if (::uname(&kernel) == 0) cpu.architecture = kernel.machine;
  read_cpuinfo(read_start("/proc/cpuinfo", 16384).value_or(""), cpu);
  const int affine = affine_processors();
  const auto quota = read_cpu_quota(read_start("/proc/self/cgroup").value_or(""), "/sys/fs/cgroup");
  // A quota of half a CPU counts as one CPU, which is available half of the time.
  const int granted = quota ? static_cast<int>(std::ceil(std::min(*quota, 1e6))) : affine;
  cpu.usable = std::max(1, std::min(affine, granted));
  cpu.cores = count_cores("/sys/devices/system");
  if (cpu.cores == 0) cpu.cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  cpu.affinity = allowed_list(read_start("/proc/self/status").value_or(""));
  cpu.numa_nodes = count_numa_nodes("/sys/devices/system");
  return cpu;
}

}  // namespace muster::facts
