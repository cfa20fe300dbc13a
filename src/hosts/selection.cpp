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
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("{} {} not among the hosts", shortened(fold(missing)),
                                              missing.size() == 1 ? "is" : "are"),
                          .where = selection.where,
                          .hint = fmt::format("the hosts are {}", shortened(fold(hosts)))});
}

}  // namespace

Result<Selection> parse_selection(const Source& source) {
  // '@' is one byte, as the comma is: places stay right.
  std::string text(source.text);
  std::replace(text.begin(), text.end(), '@', ',');
  Source plain = source;
  plain.text = text;
  MUSTER_TRY(const std::vector<Item> items, parse_items(plain, 0, text.size()));
  for (const Item& item : items) {
    if (item.colon == Item::kNo) continue;
    return unexpected(plain.refuse(item.colon, "hosts are taken whole here, without ':'",
                                   "say slots with the hosts, e.g. -H node1:2, and GPUs with "
                                   "CUDA_VISIBLE_DEVICES"));
  }
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
