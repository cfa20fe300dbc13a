#include "agent/look.hpp"

#include <array>
#include <cstdlib>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "agent/processes.hpp"
#include "sys/file.hpp"

namespace muster::agent {
namespace {

constexpr std::size_t kMaxStat = 4096;
constexpr int kUserTimeAfterState = 11;  // fields of /proc/PID/stat
constexpr std::string_view kTellsMost = "SDRT";

struct ProcessLook {
  char state = 'X';
  double cpu_s = 0;
};

ProcessLook look_at_process(pid_t pid) {
  const auto stat = sys::read_file(fmt::format("/proc/{}/stat", pid), kMaxStat);
  const std::size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos) return {};
  std::istringstream fields(stat->substr(name_end + 2));
  ProcessLook look;
  fields >> look.state;
  std::string skipped;
  for (int i = 1; i < kUserTimeAfterState; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  look.cpu_s = (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (look.state == 't') look.state = 'T';  // by a debugger
  if (look.state == 'Z' || look.state == 'x') look.state = 'X';
  return look;
}

// "0" where the process runs, or the kernel does not tell.
std::string waiting_place(pid_t pid) {
  const auto text = sys::read_file(fmt::format("/proc/{}/wchan", pid), kMaxStat);
  return text && *text != "0" ? *text : std::string();
}

std::size_t weight(char state) {
  const std::size_t at = kTellsMost.find(state);
  return at == std::string_view::npos ? 0 : at + 1;
}

}  // namespace

std::vector<RankLook> look_at(const std::map<int, RankStart>& starts) {
  std::vector<RankLook> looks;
  std::vector<RankStart> all;
  for (const auto& [rank, start] : starts) all.push_back(start);
  const auto trees = process_trees(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    RankLook look{.rank = all[i].rank};
    pid_t told_by = 0;
    for (const pid_t pid : trees[i]) {
      const ProcessLook one = look_at_process(pid);
      look.cpu_s += one.cpu_s;
      // Of two that tell as much the later one is further down: what a shell waits for.
      if (one.state == 'X' || weight(one.state) < weight(look.state.front())) continue;
      look.state = one.state;
      told_by = pid;
    }
    if (told_by != 0) look.waits_in = waiting_place(told_by);
    looks.push_back(std::move(look));
  }
  return looks;
}

}  // namespace muster::agent
