#include "hosts/fold.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "hosts/name.hpp"

namespace muster::hosts {
namespace {

constexpr char kHole = '%';  // stands for a number in a pattern; names cannot contain it
// Longer numbers stay text, because they do not fit into a Number.
constexpr std::size_t kMaxDigits = 17;

// The digits of a name as an integer whose order is the natural order of names: the number of
// digits in the upper bits, the value in the lower ones. So "2" < "10" and "9" < "09".
using Number = std::uint64_t;
constexpr int kValueBits = 58;

// Names with equal slots that differ only in their numbers.
struct Group {
  std::string pattern;
  int slots = 0;
  std::size_t axes = 0;              // how many numbers a name has
  std::vector<Number> numbers = {};  // `axes` numbers per name, one name after another
  // For each name, where its numbers begin in `numbers`. In natural order.
  std::vector<std::size_t> rows = {};
  std::vector<std::size_t> varying = {};  // the axes in which names differ
};

// At most this many axes are joined into ranges, because each costs a sort. If names differ in more
// numbers, which no common naming scheme does, the first axes are written out.
constexpr std::size_t kMaxJoined = 4;

// The value of a box at an axis: a Number, or kSet and an index into Sets.
using Cell = std::uint64_t;
constexpr Cell kSet = Cell{1} << 63;

// A set of names that is a product over the joined axes, which are the last of the varying ones.
struct Box {
  std::size_t row = 0;    // index in Group::rows of the smallest name
  std::size_t apart = 0;  // only boxes with equal values can be joined
  std::array<Cell, kMaxJoined> cells = {};
};

// Sets of at least two numbers, as the text between the brackets. Each set is stored once.
class Sets {
 public:
  Cell add(const std::string& ranges) {
    const auto [at, is_new] = known_.try_emplace(ranges, texts_.size());
    if (is_new) texts_.push_back(ranges);
    return kSet | at->second;
  }
  [[nodiscard]] const std::string& text(Cell cell) const { return texts_[cell & ~kSet]; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, Cell> known_;
};

Number to_number(std::string_view digits) {
  Number value = 0;
  for (const char c : digits) value = value * 10 + static_cast<Number>(c - '0');
  return (static_cast<Number>(digits.size()) << kValueBits) | value;
}

std::size_t digits_of(Number number) {
  return number >> kValueBits;
}

Number value_of(Number number) {
  return number & ((Number{1} << kValueBits) - 1);
}

void append(std::string& text, Number number) {
  const fmt::format_int digits(value_of(number));
  text.append(digits_of(number) - digits.size(), '0').append(digits.data(), digits.size());
}

bool is_padded(Number number) {
  return fmt::format_int(value_of(number)).size() < digits_of(number);
}

// Splits "r1n02" into "r%n%" and the numbers 1 and 02. Does not split an address, or anything else
// that is not a plain name.
void take_apart(std::string_view name, std::string& pattern, std::vector<Number>& numbers) {
  pattern.clear();
  numbers.clear();
  if (!is_name(name)) {
    pattern = name;
    return;
  }
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    const std::string_view digits = name.substr(at, end - at);
    if (digits.empty()) {
      pattern += name[at++];
      continue;
    }
    at = end;
    if (digits.size() > kMaxDigits) {
      pattern += digits;
    } else {
      pattern += kHole;
      numbers.push_back(to_number(digits));
    }
  }
}

// Whether `next` can extend the range from `first` to `last`.
bool continues(Number first, Number last, Number next) {
  if (value_of(next) != value_of(last) + 1) return false;
  return is_padded(first) ? digits_of(next) == digits_of(first) : !is_padded(next);
}

// Turns {1, 2, 3, 7} into "1-3,7". `numbers` must be sorted.
std::string to_ranges(const std::vector<Number>& numbers) {
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() &&
           continues(numbers[first], numbers[last], numbers[last + 1])) {
      ++last;
    }
    if (!text.empty()) text += ',';
    append(text, numbers[first]);
    if (last > first) append(text += '-', numbers[last]);
    first = last + 1;
  }
  return text;
}

int compare(const Group& group, std::size_t row_a, const Group& other, std::size_t row_b,
            std::size_t axes) {
  for (std::size_t i = 0; i < axes; ++i) {
    const Number a = group.numbers[row_a + i];
    const Number b = other.numbers[row_b + i];
    if (a != b) return a < b ? -1 : 1;
  }
  return 0;
}

void find_varying(Group& group) {
  for (std::size_t axis = 0; axis < group.axes; ++axis) {
    const Number first = group.numbers[axis];
    for (std::size_t at = axis; at < group.numbers.size(); at += group.axes) {
      if (group.numbers[at] == first) continue;
      group.varying.push_back(axis);
      break;
    }
  }
}

void sort_rows(Group& group) {
  const auto less = [&group](std::size_t a, std::size_t b) {
    for (const std::size_t axis : group.varying) {
      const Number left = group.numbers[a + axis];
      const Number right = group.numbers[b + axis];
      if (left != right) return left < right;
    }
    return false;
  };
  std::sort(group.rows.begin(), group.rows.end(), less);
  const auto last = std::unique(group.rows.begin(), group.rows.end(),
                                [&less](std::size_t a, std::size_t b) { return !less(a, b); });
  group.rows.erase(last, group.rows.end());
}

std::span<const std::size_t> joined_axes(const Group& group) {
  return std::span(group.varying).last(std::min(group.varying.size(), kMaxJoined));
}

// Makes one box per name.
std::vector<Box> to_boxes(const Group& group) {
  const auto joined = joined_axes(group);
  const std::size_t apart_axes = joined.empty() ? 0 : joined.front();
  std::vector<Box> boxes(group.rows.size());
  for (std::size_t row = 0; row < boxes.size(); ++row) {
    const std::size_t at = group.rows[row];
    const bool like_last =
        row > 0 && compare(group, group.rows[row - 1], group, at, apart_axes) == 0;
    boxes[row].row = row;
    boxes[row].apart = like_last ? boxes[row - 1].apart : row;
    for (std::size_t i = 0; i < joined.size(); ++i) {
      boxes[row].cells[i] = group.numbers[at + joined[i]];
    }
  }
  return boxes;
}

// Sorts boxes that differ only at `axis` next to each other, and these in natural order. The order
// is otherwise arbitrary.
bool sorts_before(std::size_t axis, const Box& a, const Box& b) {
  if (a.apart != b.apart) return a.apart < b.apart;
  for (std::size_t i = 0; i < kMaxJoined; ++i) {
    if (i != axis && a.cells[i] != b.cells[i]) return a.cells[i] < b.cells[i];
  }
  return a.cells[axis] < b.cells[axis];
}

bool same_but(std::size_t axis, const Box& a, const Box& b) {
  if (a.apart != b.apart) return false;
  for (std::size_t i = 0; i < kMaxJoined; ++i) {
    if (i != axis && a.cells[i] != b.cells[i]) return false;
  }
  return true;
}

// Joins boxes that differ only at `axis`. At this axis, each must still contain a single number.
void join(std::vector<Box>& boxes, std::size_t axis, Sets& sets) {
  std::sort(boxes.begin(), boxes.end(),
            [axis](const Box& a, const Box& b) { return sorts_before(axis, a, b); });
  std::size_t kept = 0;
  std::vector<Number> numbers;
  for (std::size_t first = 0, next = 0; first < boxes.size(); first = next) {
    numbers.clear();
    for (next = first; next < boxes.size() && same_but(axis, boxes[first], boxes[next]); ++next) {
      numbers.push_back(boxes[next].cells[axis]);
    }
    boxes[kept] = boxes[first];
    if (numbers.size() > 1) boxes[kept].cells[axis] = sets.add(to_ranges(numbers));
    ++kept;
  }
  boxes.resize(kept);
}

void append_box(std::string& text, const Group& group, const Box& box, const Sets& sets) {
  if (!text.empty()) text += ',';
  const bool address = group.axes == 0 && group.pattern.find(':') != std::string::npos;
  const bool enclosed = address && group.slots > 0;
  if (enclosed) text += '[';
  const auto joined = joined_axes(group);
  std::size_t axis = 0;
  std::size_t cell = 0;
  for (const char c : group.pattern) {
    if (c != kHole || axis == group.axes) {
      text += c;
      continue;
    }
    const bool is_joined = cell < joined.size() && joined[cell] == axis;
    const Cell content = is_joined ? box.cells[cell++] : group.numbers[group.rows[box.row] + axis];
    if ((content & kSet) != 0) {
      text.append(1, '[').append(sets.text(content)).append(1, ']');
    } else {
      append(text, content);
    }
    ++axis;
  }
  if (enclosed) text += ']';
  if (group.slots > 0) text.append(1, ':').append(fmt::format_int(group.slots).str());
}

void append_group(std::string& text, const Group& group) {
  std::vector<Box> boxes = to_boxes(group);
  Sets sets;
  for (std::size_t axis = joined_axes(group).size(); axis-- > 0;) join(boxes, axis, sets);
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.row < b.row; });
  for (const Box& box : boxes) append_box(text, group, box, sets);
}

std::vector<Group> to_groups(std::span<const Host> hosts) {
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> known;
  std::string pattern;
  std::string key;
  std::vector<Number> numbers;
  for (const Host& host : hosts) {
    take_apart(host.name, pattern, numbers);
    key.assign(fmt::format_int(host.slots).str()).append(1, numbers.empty() ? ' ' : kHole);
    key += pattern;
    const auto [at, is_new] = known.try_emplace(key, groups.size());
    if (is_new) {
      groups.push_back({.pattern = pattern, .slots = host.slots, .axes = numbers.size()});
    }
    Group& group = groups[at->second];
    group.rows.push_back(group.numbers.size());
    group.numbers.insert(group.numbers.end(), numbers.begin(), numbers.end());
  }
  return groups;
}

}  // namespace

std::string fold(std::span<const Host> hosts) {
  std::vector<Group> groups = to_groups(hosts);
  for (Group& group : groups) {
    find_varying(group);
    sort_rows(group);
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.pattern != b.pattern) return a.pattern < b.pattern;
    return compare(a, a.rows.front(), b, b.rows.front(), std::min(a.axes, b.axes)) < 0;
  });
  std::string text;
  for (const Group& group : groups) append_group(text, group);
  return text;
}

std::string fold(std::span<const std::string> names) {
  std::vector<Host> hosts;
  hosts.reserve(names.size());
  for (const std::string& name : names) hosts.push_back({.name = name});
  return fold(hosts);
}

}  // namespace muster::hosts
