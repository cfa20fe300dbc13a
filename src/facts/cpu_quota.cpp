#include <algorithm>

#include "facts/cpu.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::facts {
namespace {

std::optional<double> ratio(std::string_view quota, std::string_view period) {
  const auto granted = number<std::int64_t>(quota);
  const auto of = number<std::int64_t>(period);
  // "max" and -1 mean no quota.
  if (!granted || !of || *granted <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*granted) / static_cast<double>(*of);
}

std::optional<double> quota_in(const std::string& folder, bool is_v2) {
  if (is_v2) {
    const std::string line = first_line(folder + "/cpu.max");
    const auto parts = words(line);
    return parts.size() == 2 ? ratio(parts[0], parts[1]) : std::nullopt;
  }
  return ratio(first_line(folder + "/cpu.cfs_quota_us"), first_line(folder + "/cpu.cfs_period_us"));
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// The smallest quota on the way from the root to `path`, because a quota applies to all levels
// below it. In a container, `path` may be the path on the host, which does not exist below `mount`
// in the container. Then only the root's file exists, which contains the container's own quota.
std::optional<double> quota_along(const std::string& mount, std::string path, bool is_v2) {
  std::optional<double> quota = quota_in(mount, is_v2);
  while (path.size() > 1) {
    quota = smaller(quota, quota_in(mount + path, is_v2));
    path.resize(path.rfind('/'));
  }
  return quota;
}

bool names_cpu(std::string_view controllers) {
  const auto parts = split(controllers, ',');
  return std::find(parts.begin(), parts.end(), "cpu") != parts.end();
}

}  // namespace

std::optional<double> read_cpu_quota(std::string_view membership, const std::string& root) {
  std::optional<double> quota;
  for (const std::string_view line : split(membership, '\n')) {
    // The line is "4:cpu,cpuacct:/path" (v1) or "0::/path" (v2).
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (!path.starts_with('/')) continue;
    if (controllers.empty()) {
      quota = smaller(quota, quota_along(root, path, true));
    } else if (names_cpu(controllers)) {
      quota = smaller(quota, quota_along(root + "/" + std::string(controllers), path, false));
    }
  }
  return quota;
}

}  // namespace muster::facts
