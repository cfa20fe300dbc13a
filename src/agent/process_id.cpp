#include "agent/record.hpp"
#include "sys/process_stat.hpp"

namespace muster::agent {

std::optional<ProcessId> identify(pid_t pid) {
  const auto stat = sys::read_process_stat(pid);
  if (!stat || stat->ended()) return std::nullopt;
  return ProcessId{.pid = pid, .start = stat->start_ticks};
}

bool is_alive(const ProcessId& process) {
  return identify(process.pid) == process;
}

}  // namespace muster::agent
