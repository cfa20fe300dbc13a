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
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  constexpr std::int64_t kKiB = std::int64_t{1} << 10;
  if (bytes >= kGiB && bytes % kGiB == 0) return fmt::format("{} GiB", bytes / kGiB);
  if (bytes >= 10 * kGiB) return fmt::format("{} GiB", bytes / kGiB);
  if (bytes >= kMiB) return fmt::format("{} MiB", bytes / kMiB);
  if (bytes >= kKiB) return fmt::format("{} KiB", bytes / kKiB);
  return fmt::format("{} bytes", bytes);
}

}  // namespace muster::checks
