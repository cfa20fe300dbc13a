#include "agent/binding.hpp"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "facts/visible_gpus.hpp"

namespace muster::agent {
namespace {

std::string not_bound(const std::string& why) {
  return "muster did not bind this rank to CPUs: " + why;
}

// Adds the CPUs of one part of a list, "7" or "0-3".
bool add_range(std::string_view text, cpu_set_t& set) {
  unsigned first = 0;
  const char* const end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, first);
  unsigned last = first;
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
    read = std::from_chars(read.ptr + 1, end, last);
  }
  if (read.ec != std::errc() || read.ptr != end || last < first || last >= CPU_SETSIZE)
    return false;
  for (unsigned cpu = first; cpu <= last; ++cpu) CPU_SET(cpu, &set);
  return true;
}

}  // namespace

Result<cpu_set_t> parse_cpu_list(std::string_view text) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    if (!add_range(rest.substr(0, comma), set)) {
      return unexpected(Error{.what = fmt::format("'{}' is not a list of CPUs", printable(text))});
    }
    if (comma == std::string_view::npos) return set;
    rest.remove_prefix(comma + 1);
  }
}

std::string bind_near_gpu(std::span<const facts::Gpu> gpus, const rankenv::Environment& environment,
                          int local_rank) {
  const facts::Gpu* const gpu = facts::gpu_of_rank(gpus, environment, local_rank);
  if (gpu == nullptr) return not_bound("there is no GPU for it, or muster cannot tell which it is");
  if (gpu->cpus.empty()) {
    return not_bound(fmt::format("the NUMA node of its GPU {} is not known", gpu->pci));
  }
  const auto wanted = parse_cpu_list(gpu->cpus);
  if (!wanted) return not_bound(wanted.error().what);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return not_bound(std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  }
  cpu_set_t both;
  CPU_AND(&both, &*wanted, &allowed);
  if (CPU_COUNT(&both) == 0) {
    return not_bound(
        fmt::format("it may use none of the CPUs {} near its GPU {}", gpu->cpus, gpu->pci));
  }
  if (::sched_setaffinity(0, sizeof both, &both) != 0) {
    return not_bound(std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  }
  return {};
}

}  // namespace muster::agent
