#include "agent/leftovers.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "agent/processes.hpp"
#include "agent/protocol.hpp"
#include "agent/run_files.hpp"
#include "agent/warden.hpp"
#include "sys/file.hpp"

namespace muster::agent {
namespace {

using LeftoverClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLeftoversGone{10};
constexpr int kLookAgainMs = 20;

std::vector<RankStart> recorded_starts(const std::string& folder) {
  std::vector<RankStart> starts;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const auto event = parse_event(line);
      if (!event) continue;
      if (const auto& start = event->start) starts.push_back(*start);
    }
  }
  return starts;
}

// Ends the warden of an earlier attempt. Otherwise it would keep waiting for orders, and would tell
// a launcher that reconnects late that its ranks were killed.
void dismiss_warden(const std::string& folder) {
  const sys::Fd warden = connect_to_warden(folder);
  if (!warden.valid()) return;
  const std::string orders = to_line(Order{.kind = Order::Kind::kEnd, .grace_s = 0}) +
                             to_line(Order{.kind = Order::Kind::kBye, .keep = true});
  (void)!::write(warden.get(), orders.data(), orders.size());
}

Result<void> end_one(const std::string& run_id) {
  MUSTER_TRY(const std::string folder, run_folder(run_id));
  if (!sys::exists(folder)) return {};  // the run's warden removed it, so nothing is left
  (void)sys::write_file(folder + "/" + kOverMark, "", 0600);
  dismiss_warden(folder);
  const auto starts = recorded_starts(folder);
  const auto until = LeftoverClock::now() + kLeftoversGone;
  while (true) {
    std::vector<ProcessId> left = rank_processes(run_id, starts);
    const auto daemons = engine_daemons(run_id, starts);
    left.insert(left.end(), daemons.begin(), daemons.end());
    if (left.empty()) return {};
    if (LeftoverClock::now() > until) {
      return unexpected(
          Error{.what = fmt::format(
                    "process {} of the earlier attempt {} does not end, although it was killed",
                    left.front().pid, run_id),
                .hint = "the process may be waiting for a file system or a device; the host may "
                        "need a reboot"});
    }
    for (const ProcessId& process : left) send_signal(process, SIGKILL);
    (void)::poll(nullptr, 0, kLookAgainMs);
  }
}

}  // namespace

Result<void> end_leftovers(const std::vector<std::string>& run_ids) {
  for (const std::string& run_id : run_ids) MUSTER_CHECK(end_one(run_id));
  return {};
}

}  // namespace muster::agent
