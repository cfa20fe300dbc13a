// Clocks that differ. They make torchrun's rendezvous evict hosts, and lines of merged logs appear
// in the wrong order.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"

namespace muster::checks {
namespace {

constexpr double kWarnSeconds = 1;
constexpr double kErrorSeconds = 5;

struct Reading {
  double ahead_s = 0;  // relative to the launcher's clock
  double doubt_s = 0;
};

// The median of all clocks, including the launcher's, because the launcher's clock may be the wrong
// one. Of two middle readings, returns the one closer to the launcher's clock.
Reading usual(std::span<const Participant> hosts) {
  std::vector<Reading> readings = {{}};
  for (const Participant& host : hosts) {
    if (!std::isfinite(host.survey->clock_ahead_s)) continue;
    readings.push_back({host.survey->clock_ahead_s, host.survey->clock_doubt_s});
  }
  std::sort(readings.begin(), readings.end(),
            [](const Reading& one, const Reading& two) { return one.ahead_s < two.ahead_s; });
  const Reading& low = readings[(readings.size() - 1) / 2];
  const Reading& high = readings[readings.size() / 2];
  return std::abs(low.ahead_s) <= std::abs(high.ahead_s) ? low : high;
}

}  // namespace

Findings find_clock(const Scene& scene) {
  Findings findings;
  const std::vector<Participant> hosts = participants(scene);
  if (hosts.size() < 2) return findings;
  const Reading middle = usual(hosts);
  for (const Participant& host : hosts) {
    const double skew = host.survey->clock_ahead_s - middle.ahead_s;
    const double doubt = host.survey->clock_doubt_s + middle.doubt_s;
    const double certain = std::abs(skew) - doubt;
    if (!(certain > kWarnSeconds)) continue;
    findings.push_back(
        {.id = std::string(kClockSkew),
         .severity = certain > kErrorSeconds ? Severity::kError : Severity::kWarning,
         .hosts = {host.name()},
         .what = "its clock is wrong",
         .evidence = fmt::format("{:.1f} s {} the other hosts, give or take {:.1f} s",
                                 std::abs(skew), skew > 0 ? "ahead of" : "behind", doubt),
         .fix = command_on_hosts("sudo timedatectl set-ntp true")});
  }
  return findings;
}

}  // namespace muster::checks
