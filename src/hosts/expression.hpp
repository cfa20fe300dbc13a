// Host expressions: node[01-16]:4,launcher. docs/hosts.md has the grammar.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"
#include "hosts/host_collector.hpp"
#include "hosts/item.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

// Returns at least one host, in the order of first appearance and without duplicates. Errors name
// line and column.
[[nodiscard]] Result<std::vector<Host>> parse_expression(const Source& source);
[[nodiscard]] Result<std::vector<Host>> parse_expression(std::string_view text);

// Parses the items in [begin, end) of the source's text, separated by commas, blanks and newlines.
[[nodiscard]] Result<std::vector<Item>> parse_items(const Source& source, std::size_t begin,
                                                    std::size_t end);

// Adds the item's hosts. Fails if this exceeds the source's limit.
[[nodiscard]] Result<void> add_to(HostCollector& collected, const Source& source, const Item& item);

}  // namespace muster::hosts
