#include "hosts/selection.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "hosts/expression.hpp"
#include "hosts/fold.hpp"

namespace muster::hosts {
namespace {

using Names = std::unordered_set<std::string_view>;

Names names_of(const std::vector<Host>& hosts) {
  Names names;
  names.reserve(hosts.size());
  for (const Host& host : hosts) names.insert(host.name);
  return names;
}

std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 200;
  if (text.size() > kLongest) text.replace(kLongest, std::string::npos, "...");
  return text;
}

Result<void> check_known(const std::vector<Host>& hosts, const Selection& selection) {
  const Names known = names_of(hosts);
  std::vector<std::string> missing;
  for (const Host& host : selection.hosts) {
    if (!known.contains(host.name)) missing.push_back(host.name);
  }
  if (missing.empty()) return {};
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = fmt::format("{} {} not in the host list", shortened(fold(missing)),
                                missing.size() == 1 ? "is" : "are"),
            .where = selection.where,
            .hint = fmt::format("the hosts are {}", shortened(fold(hosts)))});
}

// Rejects ":n" after a host, which means slots in -H but GPUs in DeepSpeed.
Result<void> check_whole(const Source& source) {
  constexpr std::string_view kSeparators = ", \t\r\n";
  std::size_t at = source.text.find_first_not_of(kSeparators);
  while (at != std::string_view::npos) {
    MUSTER_TRY(const std::size_t end, item_end(source, at, source.text.size()));
    const std::string_view item = source.text.substr(at, end - at);
    const std::size_t colon = item.rfind(':');
    if (colon != std::string_view::npos && (colon == item.find(':') || item[colon - 1] == ']')) {
      return unexpected(source.refuse(
          at + colon, "--include and --exclude take host names without ':'",
          "set slots in the host list (-H node1:2) and GPUs with CUDA_VISIBLE_DEVICES"));
    }
    at = source.text.find_first_not_of(kSeparators, end);
  }
  return {};
}

}  // namespace

Result<Selection> parse_selection(const Source& source) {
  // Both '@' and ',' are one byte long, so positions stay correct.
  std::string text(source.text);
  std::replace(text.begin(), text.end(), '@', ',');
  Source plain = source;
  plain.text = text;
  MUSTER_CHECK(check_whole(plain));
  MUSTER_TRY(std::vector<Host> hosts, parse_expression(plain));
  return Selection{.hosts = std::move(hosts), .where = {.file = source.name}};
}

Result<std::vector<Host>> include(std::vector<Host> hosts, const Selection& wanted) {
  MUSTER_CHECK(check_known(hosts, wanted));
  const Names names = names_of(wanted.hosts);
  std::erase_if(hosts, [&](const Host& host) { return !names.contains(host.name); });
  return hosts;
}

Result<std::vector<Host>> exclude(std::vector<Host> hosts, const Selection& unwanted) {
  MUSTER_CHECK(check_known(hosts, unwanted));
  const Names names = names_of(unwanted.hosts);
  std::erase_if(hosts, [&](const Host& host) { return names.contains(host.name); });
  if (!hosts.empty()) return hosts;
  return unexpected(
      Error{.code = ErrorCode::kUsage, .what = "no host is left", .where = unwanted.where});
}

}  // namespace muster::hosts
