// The input up to the first '|' lists the hosts; the rest lists those to include and exclude.
#include "hosts/selection.hpp"

#include <cstdint>

#include "good_hosts.hpp"

namespace muster::fuzz {
namespace {

bool names(const std::vector<hosts::Host>& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(),
                     [&](const hosts::Host& host) { return host.name == name; });
}

// Limits the number of comparisons per input to some thousands.
constexpr std::size_t kFew = 64;

void check(std::string_view text) {
  const std::size_t bar = std::min(text.find('|'), text.size());
  const auto all = hosts::parse_expression({.text = text.substr(0, bar), .limit = kFew});
  const auto chosen =
      hosts::parse_selection({.text = text.substr(std::min(bar + 1, text.size())), .limit = kFew});
  if (!chosen) require_good_error(chosen.error());
  if (!all || !chosen) return;
  const auto kept = hosts::include(*all, *chosen);
  const auto left = hosts::exclude(*all, *chosen);
  const bool known = std::all_of(chosen->hosts.begin(), chosen->hosts.end(),
                                 [&](const auto& host) { return names(*all, host.name); });
  require(kept.has_value() == known, "included unless one is not there");
  const bool everybody = known && chosen->hosts.size() == all->size();
  require(left.has_value() == (known && !everybody), "excluded unless nobody is left");
  if (!kept) require_good_error(kept.error());
  if (!left) return require_good_error(left.error());
  require(kept->size() + left->size() == all->size(), "each host is either in or out");
  for (const hosts::Host& host : *all) {
    require(names(*kept, host.name) == names(chosen->hosts, host.name), "in when included");
    require(names(*left, host.name) != names(chosen->hosts, host.name), "out when excluded");
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
