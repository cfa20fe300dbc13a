#include "agent/look.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "agent/processes.hpp"
#include "sys/file.hpp"
#include "sys/process_stat.hpp"

namespace muster::agent {
namespace {

constexpr std::size_t kMaxPlace = 4096;
constexpr std::string_view kTellsMost = "SDRT";

struct ProcessLook {
  char state = 'X';
  double cpu_s = 0;
};

ProcessLook look_at_process(pid_t pid) {
  const auto stat = sys::read_process_stat(pid);
  if (!stat) return {};
  ProcessLook look{.state = stat->state};
  look.cpu_s = static_cast<double>(stat->cpu_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (look.state == 't') look.state = 'T';  // by a debugger
  if (stat->ended()) look.state = 'X';
  return look;
}

// "0" where the process runs, or the kernel does not tell.
std::string waiting_place(pid_t pid) {
  const auto text = sys::read_file(fmt::format("/proc/{}/wchan", pid), kMaxPlace);
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
