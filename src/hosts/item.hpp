// One item of a host expression: NAME, NAME:SLOTS or an IPv6 address. NAME may contain ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

// The numbers first, first + step, ... up to last, padded with zeros to `width` digits.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t step = 1;
  int width = 0;
};

// Literal text, followed by one of the numbers in `ranges` if there are any.
struct Piece {
  std::string_view text;
  std::vector<Range> ranges;
};

struct Item {
  std::vector<Piece> pieces;
  int slots = 0;              // 0: not given
  std::size_t offset = 0;     // position in the source's text where the item starts
  std::size_t bracket = kNo;  // position of its first range
  std::size_t colon = kNo;    // position of the ':' before its slots
  std::size_t count = 1;      // hosts in it; at most the source's limit + 1

  static constexpr std::size_t kNo = static_cast<std::size_t>(-1);
};

// Returns the end of the item that starts at `begin`: the position of the next comma or blank
// outside brackets.
[[nodiscard]] Result<std::size_t> item_end(const Source& source, std::size_t begin,
                                           std::size_t end);

// Parses the item that occupies exactly [begin, end) of the source's text. The text must outlive
// the item.
[[nodiscard]] Result<Item> parse_item(const Source& source, std::size_t begin, std::size_t end);

// Calls `visit` with each name until it returns false. The last range varies fastest.
void expand(const Item& item, const std::function<bool(std::string_view)>& visit);

// Parses a decimal number from 1 to `max`. `what` names it in error messages, e.g. "slot count".
[[nodiscard]] Result<int> parse_count(const Source& source, std::size_t begin, std::size_t end,
                                      int max, std::string_view what);

}  // namespace muster::hosts
