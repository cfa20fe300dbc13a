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
constexpr std::size_t kMaxDigits = 18;  // longer numbers stay text

// A set of names as one product: for each number of the pattern the numbers it takes, written as
// inside brackets. Begins as one name and grows.
using Box = std::vector<std::string>;

// Names that differ in their numbers alone and have the same slots.
struct Group {
  std::string pattern;
  int slots = 0;
  std::vector<Box> boxes = {};
};

// "r1n02" -> "r%n%" and {"1", "02"}. An address, or whatever is not a plain name, stays whole.
std::string to_pattern(std::string_view name, Box& numbers) {
  std::string pattern;
  if (!is_name(name)) return std::string(name);
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end == at) {
      pattern += name[at++];
      continue;
    }
    if (end - at > kMaxDigits) {
      pattern += name.substr(at, end - at);
    } else {
      pattern += kHole;
      numbers.emplace_back(name.substr(at, end - at));
    }
    at = end;
  }
  return pattern;
}

int compare_numbers(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

bool before(const Box& a, const Box& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const int order = compare_numbers(a[i], b[i]); order != 0) return order < 0;
  }
  return false;
}

std::uint64_t value_of(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

bool is_padded(std::string_view digits) {
  return digits.size() > 1 && digits.front() == '0';
}

// Whether `next` can end the range that begins with `first` and so far ends with `last`.
bool continues(std::string_view first, std::string_view last, std::string_view next) {
  if (is_padded(first) ? next.size() != first.size() : is_padded(next)) return false;
  return value_of(next) == value_of(last) + 1;
}

// {"1", "2", "3", "7"} -> "1-3,7"; the numbers are in order.
std::string to_ranges(const std::vector<std::string_view>& numbers) {
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() &&
           continues(numbers[first], numbers[last], numbers[last + 1])) {
      ++last;
    }
    if (!text.empty()) text += ',';
    text += numbers[first];
    if (last > first) text.append(1, '-').append(numbers[last]);
    first = last + 1;
  }
  return text;
}

bool same_but(std::size_t axis, const Box& a, const Box& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i != axis && a[i] != b[i]) return false;
  }
  return true;
}

// Joins the boxes that differ only at `axis`, where each still holds a single number.
std::vector<Box> join(std::vector<Box> boxes, std::size_t axis) {
  std::stable_sort(boxes.begin(), boxes.end(), [axis](const Box& a, const Box& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (i == axis) continue;
      if (const int order = compare_numbers(a[i], b[i]); order != 0) return order < 0;
    }
    return compare_numbers(a[axis], b[axis]) < 0;
  });
  std::vector<Box> joined;
  std::vector<std::string_view> numbers;
  for (std::size_t first = 0, last = 0; first < boxes.size(); first = last) {
    numbers.clear();
    for (last = first; last < boxes.size() && same_but(axis, boxes[first], boxes[last]); ++last) {
      numbers.emplace_back(boxes[last][axis]);
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
    if (const int order = compare_numbers(first(a[i]), first(b[i])); order != 0) return order < 0;
  }
  return false;
}

std::vector<Group> to_groups(std::span<const Host> hosts) {
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> known;
  for (const Host& host : hosts) {
    Box numbers;
    std::string pattern = to_pattern(host.name, numbers);
    const auto [at, is_new] =
        known.try_emplace(fmt::format("{}:{}", pattern, host.slots), groups.size());
    if (is_new) groups.push_back({.pattern = std::move(pattern), .slots = host.slots});
    groups[at->second].boxes.push_back(std::move(numbers));
  }
  return groups;
}

}  // namespace

std::string fold(std::span<const Host> hosts) {
  std::vector<Group> groups = to_groups(hosts);
  for (Group& group : groups) {
    std::sort(group.boxes.begin(), group.boxes.end(), before);
    group.boxes.erase(std::unique(group.boxes.begin(), group.boxes.end()), group.boxes.end());
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.pattern != b.pattern) return a.pattern < b.pattern;
    return before(a.boxes.front(), b.boxes.front());
  });
  std::string text;
  for (Group& group : groups) {
    for (std::size_t axis = group.boxes.front().size(); axis-- > 0;) {
      group.boxes = join(std::move(group.boxes), axis);
    }
    std::sort(group.boxes.begin(), group.boxes.end(), starts_before);
    for (const Box& box : group.boxes) append_box(text, group, box);
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
