#include "hosts/expression.hpp"

#include <fmt/format.h>

namespace muster::hosts {
namespace {

std::size_t skip_blanks(std::string_view text, std::size_t at, std::size_t end) {
  const std::size_t next = text.find_first_not_of(" \t\r\n", at);
  return next < end ? next : end;
}

}  // namespace

Result<std::vector<Item>> parse_items(const Source& source, std::size_t begin, std::size_t end) {
  std::vector<Item> items;
  std::size_t comma = Item::kNo;  // position of the last comma
  for (std::size_t at = skip_blanks(source.text, begin, end); at < end;) {
    if (source.text[at] == ',') {
      return unexpected(source.refuse(at, "no host name before ','"));
    }
    MUSTER_TRY(const std::size_t after, item_end(source, at, end));
    MUSTER_TRY(Item item, parse_item(source, at, after));
    items.push_back(std::move(item));
    at = skip_blanks(source.text, after, end);
    comma = at < end && source.text[at] == ',' ? at : Item::kNo;
    if (comma != Item::kNo) at = skip_blanks(source.text, at + 1, end);
  }
  if (comma == Item::kNo) return items;
  return unexpected(source.refuse(comma, "no host name after ','"));
}

Result<void> add_to(HostCollector& collected, const Source& source, const Item& item) {
  if (collected.named() + item.count > source.limit) {
    return unexpected(source.refuse(item.offset, fmt::format("more than {} hosts", source.limit)));
  }
  bool fits = true;
  expand(item, [&](std::string_view name) { return fits = collected.add(name, item.slots); });
  if (fits) return {};
  return unexpected(
      source.refuse(item.offset, fmt::format("more than {} slots on one host", kMaxSlots)));
}

Result<std::vector<Host>> parse_expression(const Source& source) {
  MUSTER_TRY(const std::vector<Item> items, parse_items(source, 0, source.text.size()));
  if (items.empty()) {
    return unexpected(source.refuse(0, "no host is named here", "name some: node[01-16]:4"));
  }
  HostCollector collected;
  for (const Item& item : items) MUSTER_CHECK(add_to(collected, source, item));
  return collected.take();
}

Result<std::vector<Host>> parse_expression(std::string_view text) {
  return parse_expression(Source{.text = text});
}

}  // namespace muster::hosts
