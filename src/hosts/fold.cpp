#include "hosts/fold.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "hosts/name.hpp"

namespace muster::hosts {
namespace {

constexpr char kHole = '%';             // stands for a number in a pattern; no name holds it
constexpr std::size_t kMaxDigits = 17;  // longer numbers stay text: a Number would not hold them

// The digits of a name packed so that integer order is natural order: their count above, their
// value below. "2" < "10", "9" < "09".
using Number = std::uint64_t;
constexpr int kValueBits = 58;

// A set of names as one product: for each number of the pattern the numbers it takes, written as
// inside brackets.
using Box = std::vector<std::string>;

// Names that differ in their numbers alone and have the same slots.
struct Group {
  std::string pattern;
  int slots = 0;
  std::size_t axes = 0;                // numbers in a name
  std::vector<Number> numbers = {};    // `axes` for each name, one name after another
  std::vector<std::size_t> rows = {};  // where each name starts in `numbers`, in natural order
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

// Takes "r1n02" apart into "r%n%" and 1, 02. An address, or whatever is not a plain name, stays
// whole.
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

// Whether `next` can end the range that begins with `first` and so far ends with `last`.
bool continues(Number first, Number last, Number next) {
  if (value_of(next) != value_of(last) + 1) return false;
  return is_padded(first) ? digits_of(next) == digits_of(first) : !is_padded(next);
}

// {1, 2, 3, 7} -> "1-3,7"; the numbers are in order.
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

void sort_rows(Group& group) {
  std::sort(group.rows.begin(), group.rows.end(), [&group](std::size_t a, std::size_t b) {
    return compare(group, a, group, b, group.axes) < 0;
  });
  const auto last =
      std::unique(group.rows.begin(), group.rows.end(), [&group](std::size_t a, std::size_t b) {
        return compare(group, a, group, b, group.axes) == 0;
      });
  group.rows.erase(last, group.rows.end());
}

// Joins the names that differ only in their last number.
std::vector<Box> to_boxes(const Group& group) {
  std::vector<Box> boxes;
  if (group.axes == 0) return {Box{}};
  const std::size_t last_axis = group.axes - 1;
  std::vector<Number> run;
  for (std::size_t first = 0, next = 0; first < group.rows.size(); first = next) {
    run.clear();
    for (next = first; next < group.rows.size() &&
                       compare(group, group.rows[first], group, group.rows[next], last_axis) == 0;
         ++next) {
      run.push_back(group.numbers[group.rows[next] + last_axis]);
    }
    Box box(group.axes);
    for (std::size_t i = 0; i < last_axis; ++i) {
      append(box[i], group.numbers[group.rows[first] + i]);
    }
    box[last_axis] = to_ranges(run);
    boxes.push_back(std::move(box));
  }
  return boxes;
}

// The order of numbers still written out; of ranges any order will do.
int compare_texts(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

bool same_but(std::size_t axis, const Box& a, const Box& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i != axis && a[i] != b[i]) return false;
  }
  return true;
}

// Joins the boxes that differ only at `axis`, where each still holds a single number.
std::vector<Box> join(std::vector<Box> boxes, std::size_t axis) {
  std::sort(boxes.begin(), boxes.end(), [axis](const Box& a, const Box& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (i == axis) continue;
      if (const int order = compare_texts(a[i], b[i]); order != 0) return order < 0;
    }
    return compare_texts(a[axis], b[axis]) < 0;
  });
  std::vector<Box> joined;
  std::vector<Number> numbers;
  for (std::size_t first = 0, last = 0; first < boxes.size(); first = last) {
    numbers.clear();
    for (last = first; last < boxes.size() && same_but(axis, boxes[first], boxes[last]); ++last) {
      numbers.push_back(to_number(boxes[last][axis]));
    }
    std::string ranges = to_ranges(numbers);
    joined.push_back(std::move(boxes[first]));
    joined.back()[axis] = std::move(ranges);
  }
  return joined;
}

void append_box(std::string& text, const Group& group, const Box& box) {
  if (!text.empty()) text += ',';
  const bool address = box.empty() && group.pattern.find(':') != std::string::npos;
  const bool enclosed = address && group.slots > 0;
  if (enclosed) text += '[';
  std::size_t axis = 0;
  for (const char c : group.pattern) {
    if (c != kHole || axis == box.size()) {
      text += c;
      continue;
    }
    const std::string& ranges = box[axis++];
    const bool single = ranges.find_first_of(",-") == std::string::npos;
    text += single ? ranges : '[' + ranges + ']';
  }
  if (enclosed) text += ']';
  if (group.slots > 0) text += fmt::format(":{}", group.slots);
}

// By the smallest name in each.
bool starts_before(const Box& a, const Box& b) {
  const auto first = [](const std::string& ranges) {
    return ranges.substr(0, ranges.find_first_of(",-"));
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const int order = compare_texts(first(a[i]), first(b[i])); order != 0) return order < 0;
  }
  return false;
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
  for (Group& group : groups) sort_rows(group);
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.pattern != b.pattern) return a.pattern < b.pattern;
    return compare(a, a.rows.front(), b, b.rows.front(), std::min(a.axes, b.axes)) < 0;
  });
  std::string text;
  for (const Group& group : groups) {
    std::vector<Box> boxes = to_boxes(group);
    for (std::size_t axis = std::max<std::size_t>(group.axes, 1) - 1; axis-- > 0;) {
      boxes = join(std::move(boxes), axis);
    }
    std::sort(boxes.begin(), boxes.end(), starts_before);
    for (const Box& box : boxes) append_box(text, group, box);
  }
  return text;
}

std::string fold(std::span<const std::string> names) {
  std::vector<Host> hosts;
  hosts.reserve(names.size());
  for (const std::string& name : names) hosts.push_back({.name = name});
  return fold(hosts);
}

}  // namespace muster::hosts
