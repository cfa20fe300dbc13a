#include "inspect/inspect.hpp"

#include "sys/clock.hpp"

namespace muster::inspect {

HostView inspect(const Request& request) {
  HostView view{.time_s = sys::unix_time()};
  for (const RankProcesses& one : request.ranks) view.ranks.push_back({.rank = one.rank});
  return view;
}

}  // namespace muster::inspect
