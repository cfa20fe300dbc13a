#include "checks/wording.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hosts/fold.hpp"
#include "sys/quote.hpp"

namespace muster::checks {

std::string hosts_flag(std::span<const std::string> hosts) {
  return "-H " + sys::quote(std::string_view(hosts::fold(hosts)));
}

std::string command_on_hosts(std::string_view command) {
  return fmt::format("  muster exec {} -- {}", kTheHosts, sys::quote(command));
}

std::string same_activation(const layout::Job& job) {
  return job.activate.empty() ? "" : "\nwith the same --activate as now";
}

std::string listed(std::span<const std::string> items, std::size_t most) {
  const std::size_t shown = std::min(items.size(), most);
  std::string text = fmt::format("{}", fmt::join(items.first(shown), ", "));
  if (shown < items.size()) text += fmt::format(" and {} more", items.size() - shown);
  return text;
}

std::string on_hosts(std::string_view key, std::span<const std::string> hosts) {
  return fmt::format("{} on {}", key, hosts::fold(hosts));
}

std::string bytes_text(std::int64_t bytes) {
  struct Unit {
    const char* name;
    std::int64_t bytes;
    std::int64_t from;  // smaller sizes use the unit only if they are a multiple of it
  };
  constexpr std::int64_t kKiB = std::int64_t{1} << 10;
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  constexpr Unit kUnits[] = {
      {"GiB", kGiB, 10 * kGiB}, {"MiB", kMiB, 10 * kMiB}, {"KiB", kKiB, 10 * kKiB}};
  for (const Unit& unit : kUnits) {
    const bool whole = bytes % unit.bytes == 0;
    if (bytes < unit.bytes || (bytes < unit.from && !whole)) continue;
    const std::int64_t rounded_down = bytes / unit.bytes;
    if (whole || rounded_down >= 100) return fmt::format("{} {}", rounded_down, unit.name);
    return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit.bytes),
                       unit.name);
  }
  return fmt::format("{} bytes", bytes);
}

}  // namespace muster::checks
