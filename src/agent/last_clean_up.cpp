#include "agent/last_clean_up.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <poll.h>
#include <unistd.h>

#include "agent/processes.hpp"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenLooks{20};
constexpr milliseconds kKilledGoes{1000};    // longest wait for a killed process to go
constexpr milliseconds kDaemonLeaves{1000};  // longest wait for a daemon to end by itself
constexpr milliseconds kDaemonComes{3000};   // longest wait for a late daemon to appear
constexpr milliseconds kLookForDaemons{100};

void pause_for(milliseconds time) {
  (void)::poll(nullptr, 0, static_cast<int>(time.count()));
}

// Repeats until no process is left, because one look may miss a process that was just being
// started.
void kill_rank_processes(const std::string& run_id, std::span<const RankStart> starts) {
  const auto give_up = std::chrono::steady_clock::now() + kKilledGoes;
  while (true) {
    const auto left = rank_processes(run_id, starts);
    for (const ProcessId& process : left) send_signal(process, SIGKILL);
    if (left.empty() || std::chrono::steady_clock::now() > give_up) return;
    pause_for(kBetweenLooks);
  }
}

// Waits for the engine's daemons, which normally exit when the job is over, and kills those that do
// not. If no rank has started, waits for daemons to appear, because one may still be starting
// although its engine has ended.
void end_daemons(const std::string& run_id, std::span<const RankStart> starts) {
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + kDaemonLeaves;
  const auto last_comes = Clock::now() + (starts.empty() ? kDaemonComes : milliseconds(0));
  int empty_looks = 0;  // consecutive; a single look may miss a process
  while (true) {
    const auto daemons = engine_daemons(run_id, starts);
    empty_looks = daemons.empty() ? empty_looks + 1 : 0;
    if (empty_looks >= 3 && Clock::now() >= last_comes) break;
    if (Clock::now() >= give_up) {
      for (const ProcessId& daemon : daemons) send_signal(daemon, SIGKILL);
    }
    if (Clock::now() >= std::max(give_up, last_comes) + kKilledGoes) break;
    pause_for(starts.empty() ? kLookForDaemons : kBetweenLooks);
  }
  kill_rank_processes(run_id, starts);
}

}  // namespace

void clean_up(const std::string& run_id, const std::string& folder,
              std::span<const RankStart> starts, bool keep) {
  const bool in_step = std::getenv("SLURM_STEP_ID") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  if (!in_step && ::fork() != 0) return;
  for (const int descriptor : {0, 1, 2}) (void)::close(descriptor);
  end_daemons(run_id, starts);
  if (!keep) {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
  } else {
    (void)::unlink((folder + "/socket").c_str());
  }
  if (!in_step) ::_exit(0);
}

}  // namespace muster::agent
