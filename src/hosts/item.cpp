#include "hosts/item.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "hosts/host_collector.hpp"
#include "hosts/name.hpp"

namespace muster::hosts {
namespace {

constexpr std::size_t kMostDigits = 18;  // fits into std::uint64_t, even after a step is added

bool is_separator(char c) {
  return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string_view part(const Source& source, std::size_t begin, std::size_t end) {
  return source.text.substr(begin, end - begin);
}

Error refuse_char(const Source& source, std::size_t at) {
  const char c = source.text[at];
  switch (c) {
    case '@':
      if (at == 0 || is_separator(source.text[at - 1])) {
        return source.refuse(at, "muster does not support host groups",
                             "name the hosts themselves");
      }
      return source.refuse(at, "a host list cannot contain user names",
                           "pass --user, or set the user of one host in ~/.ssh/config");
    case '!':
      return source.refuse(at, "'!' is not supported in a host list",
                           "leave hosts out with --exclude");
    case '&':
      return source.refuse(at, "'&' is not supported in a host list",
                           "choose hosts with --include");
    case '^':
      return source.refuse(at, "'^' is not supported in a host list",
                           "use --include and --exclude");
    default:
      return source.refuse(at, fmt::format("{} cannot be in a host name", describe(c)),
                           "host names consist of letters, digits, '.', '_' and '-'");
  }
}

Result<std::uint64_t> parse_number(const Source& source, std::size_t begin, std::size_t end) {
  if (begin == end) return unexpected(source.refuse(begin, "a number is missing here"));
  std::uint64_t number = 0;
  for (std::size_t at = begin; at < end; ++at) {
    const char c = source.text[at];
    if (!is_digit(c)) {
      return unexpected(source.refuse(at, fmt::format("expected a number, found {}", describe(c)),
                                      "ranges look like [01-16], [1,3,5] or [0-8/2]"));
    }
    if (at - begin < kMostDigits) number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (end - begin <= kMostDigits) return number;
  return unexpected(source.refuse(
      begin, fmt::format("a number of {} digits; {} at most", end - begin, kMostDigits)));
}

// Returns to how many digits numbers are padded, or 0 if they are not. 01-16 and 01-100 are clear,
// but 1-016 is ambiguous.
Result<int> width_of(const Source& source, std::size_t at, std::string_view first,
                     std::string_view last) {
  const auto padded = [](std::string_view digits) { return digits.size() > 1 && digits[0] == '0'; };
  if (!padded(first) && !padded(last)) return 0;
  if (first.size() == last.size()) return static_cast<int>(first.size());
  if (padded(first) && !padded(last) && last.size() > first.size()) {
    return static_cast<int>(first.size());
  }
  return unexpected(
      source.refuse(at, fmt::format("{} and {} are padded differently", first, last),
                    "write both ends with the same number of digits, as in [001-016]"));
}

// Parses "7", "01-16" or "0-8/2".
Result<Range> parse_range(const Source& source, std::size_t begin, std::size_t end) {
  const std::string_view text = part(source, begin, end);
  const std::size_t slash = begin + std::min(text.find('/'), text.size());
  const std::string_view ends = part(source, begin, slash);
  const std::size_t dash = begin + std::min(ends.find('-'), ends.size());
  Range range;
  MUSTER_TRY(range.first, parse_number(source, begin, dash));
  range.last = range.first;
  if (dash == slash) {
    if (slash < end) {
      return unexpected(source.refuse(slash, "a step without a range", "write it as in [0-8/2]"));
    }
    range.width = static_cast<int>(dash - begin);
    return range;
  }
  MUSTER_TRY(range.last, parse_number(source, dash + 1, slash));
  MUSTER_TRY(range.width,
             width_of(source, begin, part(source, begin, dash), part(source, dash + 1, slash)));
  if (range.first > range.last) {
    return unexpected(source.refuse(begin, fmt::format("the range {} runs backwards", ends)));
  }
  if (slash == end) return range;
  MUSTER_TRY(range.step, parse_number(source, slash + 1, end));
  if (range.step > 0) return range;
  return unexpected(source.refuse(slash + 1, "a step of 0"));
}

// Parses the text between '[' and ']'.
Result<std::vector<Range>> parse_ranges(const Source& source, std::size_t begin, std::size_t end) {
  std::vector<Range> ranges;
  for (std::size_t at = begin;;) {
    const std::string_view rest = part(source, at, end);
    const std::size_t comma = at + std::min(rest.find(','), rest.size());
    MUSTER_TRY(const Range range, parse_range(source, at, comma));
    ranges.push_back(range);
    if (comma == end) return ranges;
    at = comma + 1;
  }
}

int decimal_digits(std::uint64_t number) {
  int digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

// Computes the number of hosts and the length of the longest name, piece by piece and without
// overflow.
class Size {
 public:
  void add(const Piece& piece, std::size_t limit) {
    bytes_ += piece.text.size();
    std::uint64_t numbers = piece.ranges.empty() ? 1 : 0;
    int digits = 0;
    for (const Range& range : piece.ranges) {
      numbers += std::min<std::uint64_t>((range.last - range.first) / range.step, limit) + 1;
      digits = std::max({digits, range.width, decimal_digits(range.last)});
    }
    bytes_ += static_cast<std::size_t>(digits);
    count_ = numbers > limit / count_ ? limit + 1 : count_ * numbers;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::size_t bytes_ = 0;
  std::size_t count_ = 1;
};

Result<Piece> parse_piece(const Source& source, std::size_t begin, std::size_t end,
                          std::size_t& after) {
  std::size_t at = begin;
  while (at < end && is_name_char(source.text[at])) ++at;
  Piece piece{.text = part(source, begin, at), .ranges = {}};
  after = at;
  if (at == end) return piece;
  if (source.text[at] != '[') return unexpected(refuse_char(source, at));
  const std::size_t close = source.text.find(']', at);  // item_end has made sure that it exists
  MUSTER_TRY(piece.ranges, parse_ranges(source, at + 1, close));
  after = close + 1;
  return piece;
}

Result<void> parse_name(const Source& source, std::size_t begin, std::size_t end, Item& item) {
  const char first = source.text[begin];
  if (first == '-' || first == '.') {
    return unexpected(
        source.refuse(begin, fmt::format("a host name cannot start with {}", describe(first))));
  }
  Size size;
  for (std::size_t at = begin; at < end && size.bytes() <= kMaxNameBytes;) {
    MUSTER_TRY(Piece piece, parse_piece(source, at, end, at));
    size.add(piece, source.limit);
    if (!piece.ranges.empty() && item.bracket == Item::kNo)
      item.bracket = source.text.find('[', begin);
    item.pieces.push_back(std::move(piece));
  }
  item.count = size.count();
  if (size.bytes() <= kMaxNameBytes) return {};
  return unexpected(
      source.refuse(begin, fmt::format("a host name longer than {} bytes", kMaxNameBytes)));
}

Item address_item(const Source& source, std::size_t begin, std::size_t end) {
  Item item;
  item.offset = begin;
  item.pieces = {{.text = part(source, begin, end), .ranges = {}}};
  return item;
}

// Parses "[2001:db8::1]" or "[2001:db8::1]:4".
Result<Item> parse_bracketed_address(const Source& source, std::size_t begin, std::size_t close,
                                     std::size_t end) {
  const std::string_view address = part(source, begin + 1, close);
  if (!is_ipv6(address)) {
    return unexpected(
        source.refuse(begin + 1, fmt::format("{} is not an IPv6 address", excerpt(address))));
  }
  Item item = address_item(source, begin + 1, close);
  if (close + 1 == end) return item;
  if (source.text[close + 1] != ':') {
    return unexpected(source.refuse(
        close + 1, fmt::format("{} after an IPv6 address", describe(source.text[close + 1])),
        "write [ADDRESS] or [ADDRESS]:SLOTS"));
  }
  item.colon = close + 1;
  MUSTER_TRY(item.slots, parse_count(source, close + 2, end, kMaxSlots, "slot count"));
  return item;
}

}  // namespace

Result<std::size_t> item_end(const Source& source, std::size_t begin, std::size_t end) {
  std::size_t open = Item::kNo;
  std::size_t at = begin;
  for (; at < end; ++at) {
    const char c = source.text[at];
    if (c == '[' && open != Item::kNo) {
      return unexpected(source.refuse(at, "'[' inside brackets"));
    }
    if (c == ']' && open == Item::kNo) {
      return unexpected(source.refuse(at, "']' without a '[' before it"));
    }
    if (c == '[') open = at;
    if (c == ']') open = Item::kNo;
    if (is_separator(c) && (open == Item::kNo || c != ',')) break;
  }
  if (open == Item::kNo) return at;
  return unexpected(
      source.refuse(open, "'[' is never closed", "there must be no space inside brackets"));
}

Result<Item> parse_item(const Source& source, std::size_t begin, std::size_t end) {
  const std::string_view text = part(source, begin, end);
  if (text.front() == '[') {
    const std::size_t close = text.find(']');
    if (text.substr(0, close).find(':') != std::string_view::npos) {
      return parse_bracketed_address(source, begin, begin + close, end);
    }
  }
  const std::size_t colon = begin + std::min(text.find(':'), text.size());
  if (colon < end &&
      source.text.substr(colon + 1, end - colon - 1).find(':') != std::string_view::npos) {
    if (is_ipv6(text)) return address_item(source, begin, end);
    return unexpected(source.refuse(
        begin, fmt::format("{} is neither NAME:SLOTS nor an IPv6 address", excerpt(text))));
  }
  if (colon == begin) return unexpected(source.refuse(begin, "no host name before ':'"));
  Item item;
  item.offset = begin;
  MUSTER_CHECK(parse_name(source, begin, colon, item));
  if (colon == end) return item;
  item.colon = colon;
  MUSTER_TRY(item.slots, parse_count(source, colon + 1, end, kMaxSlots, "slot count"));
  return item;
}

Result<int> parse_count(const Source& source, std::size_t begin, std::size_t end, int max,
                        std::string_view what) {
  const std::string_view text = part(source, begin, end);
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  int number = 0;
  for (std::size_t i = 0; digits && i < text.size() && number <= max; ++i) {
    number = number * 10 + (text[i] - '0');
  }
  if (digits && number >= 1 && number <= max) return number;
  return unexpected(source.refuse(begin, fmt::format("{} is not a {}", excerpt(text), what),
                                  fmt::format("write a number from 1 to {}", max)));
}

namespace {

bool expand_from(const Item& item, std::size_t piece, std::string& name,
                 const std::function<bool(std::string_view)>& visit) {
  if (piece == item.pieces.size()) return visit(name);
  const std::size_t before = name.size();
  name += item.pieces[piece].text;
  const std::size_t stem = name.size();
  bool go_on = true;
  if (item.pieces[piece].ranges.empty()) go_on = expand_from(item, piece + 1, name, visit);
  for (const Range& range : item.pieces[piece].ranges) {
    for (std::uint64_t n = range.first; go_on && n <= range.last; n += range.step) {
      const fmt::format_int digits(n);
      name.resize(stem);
      const auto width = static_cast<std::size_t>(range.width);
      if (width > digits.size()) name.append(width - digits.size(), '0');
      name.append(digits.data(), digits.size());
      go_on = expand_from(item, piece + 1, name, visit);
    }
  }
  name.resize(before);
  return go_on;
}

}  // namespace

void expand(const Item& item, const std::function<bool(std::string_view)>& visit) {
  std::string name;
  expand_from(item, 0, name, visit);
}

}  // namespace muster::hosts
