// Measures what one run with the given number of fake hosts costs the launcher, on a fake clock.
// Prints one line for campaigns/core. CPU time and memory include the fake hosts.
#include <cstdlib>

#include <fmt/format.h>
#include <sys/resource.h>

#include "scene.hpp"
#include "sys/print.hpp"

namespace {

constexpr double kMinute = 60;

struct Cost {
  double cpu_s = 0;
  double peak_mb = 0;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

Cost cost_so_far() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  return {.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .peak_mb = static_cast<double>(usage.ru_maxrss) / 1024};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::atoi(argv[1]) <= 0) {
    muster::sys::print_err("usage: core_cost HOSTS\n");
    return 2;
  }
  muster::run::Scene scene(std::atoi(argv[1]));
  const double before_end = 0.5;
  scene.let_ranks_live(2 * kMinute);
  const Cost hosts = cost_so_far();
  Cost survey, start, minute;
  scene.later(0, [&] { survey = cost_so_far(); });
  scene.later(kMinute, [&] { start = cost_so_far(); });
  scene.later(2 * kMinute - before_end, [&] { minute = cost_so_far(); });
  const auto end = scene.play();
  const Cost all = cost_so_far();
  muster::sys::print_out("| {} | {:.2f} | {:.2f} | {:.3f} | {:.2f} | {:.1f} | {:.1f} |\n",
                         scene.hosts.size(), survey.cpu_s - hosts.cpu_s,
                         start.cpu_s - survey.cpu_s - (minute.cpu_s - start.cpu_s),
                         (minute.cpu_s - start.cpu_s) / (kMinute - before_end),
                         all.cpu_s - minute.cpu_s, all.peak_mb, hosts.peak_mb);
  return end.verdict.code;
}
