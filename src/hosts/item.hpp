// One item of a host expression: NAME, NAME:SLOTS, an IPv6 address; NAME may hold ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

// first, first + step, ... up to last, each padded with zeros to `width` digits.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t step = 1;
  int width = 0;
};

// Literal text followed by one number out of `ranges`, or by nothing where there are none.
struct Piece {
  std::string_view text;
  std::vector<Range> ranges;
};

struct Item {
  std::vector<Piece> pieces;
  int slots = 0;              // 0: not said
  std::size_t offset = 0;     // in the source's text: where the item starts,
  std::size_t bracket = kNo;  // its first range
  std::size_t colon = kNo;    // and the ':' before its slots
  std::size_t count = 1;      // hosts in it, at most the source's limit + 1

  static constexpr std::size_t kNo = static_cast<std::size_t>(-1);
};

// The end of the item that starts at `begin`: the next comma or blank outside brackets.
[[nodiscard]] Result<std::size_t> item_end(const Source& source, std::size_t begin,
                                           std::size_t end);

// The item that is exactly [begin, end) of the source's text, which must outlive it.
[[nodiscard]] Result<Item> parse_item(const Source& source, std::size_t begin, std::size_t end);

// Calls `visit` with each name, the last range running fastest, until it returns false.
void expand(const Item& item, const std::function<bool(std::string_view)>& visit);

// A decimal number of 1 to `max`; `what` it is, for the error: "slot count".
[[nodiscard]] Result<int> parse_count(const Source& source, std::size_t begin, std::size_t end,
                                      int max, std::string_view what);

}  // namespace muster::hosts
