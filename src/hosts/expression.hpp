// Host expressions as people write them: node[01-16]:4,launcher. Grammar in docs/hosts.md.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"
#include "hosts/host_collector.hpp"
#include "hosts/item.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

// The hosts in the order of their first appearance, no name twice, at least one. Errors name line
// and column.
[[nodiscard]] Result<std::vector<Host>> parse_expression(const Source& source);
[[nodiscard]] Result<std::vector<Host>> parse_expression(std::string_view text);

// The items of [begin, end) of the source's text, separated by commas, blanks and line ends.
[[nodiscard]] Result<std::vector<Item>> parse_items(const Source& source, std::size_t begin,
                                                    std::size_t end);

// Adds the item's hosts; refuses what goes beyond the source's limit.
[[nodiscard]] Result<void> add_to(HostCollector& collected, const Source& source, const Item& item);

}  // namespace muster::hosts
