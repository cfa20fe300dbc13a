#include "remote/interim_fold.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace muster::remote {
namespace {

struct Numbered {
  std::string prefix;
  std::string digits;  // empty: the name ends in none, or in more than fit a number
};

Numbered split(const std::string& name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const std::size_t start = end == std::string::npos ? 0 : end + 1;
  if (name.size() - start > 9) return {name, ""};
  return {name.substr(0, start), name.substr(start)};
}

std::string ranges(std::vector<std::string> numbers) {
  const auto value = [](const std::string& digits) { return std::stol(digits); };
  std::sort(numbers.begin(), numbers.end(),
            [&](const auto& a, const auto& b) { return value(a) < value(b); });
  std::string text;
  for (std::size_t i = 0, last = 0; i < numbers.size(); i = last + 1) {
    last = i;
    while (last + 1 < numbers.size() && value(numbers[last + 1]) == value(numbers[last]) + 1) {
      ++last;
    }
    if (!text.empty()) text += ',';
    text += last == i ? numbers[i] : numbers[i] + "-" + numbers[last];
  }
  return text;
}

// Numbers fold only with those written alike: n1 and n01 are two hosts.
std::string width_of(const std::string& digits) {
  return digits[0] == '0' ? std::to_string(digits.size()) : "";
}

}  // namespace

std::string interim_fold(std::span<const std::string> names) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> numbered;
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ",") + part; };
  for (const std::string& name : names) {
    const Numbered parts = split(name);
    if (!parts.digits.empty()) {
      numbered[{parts.prefix, width_of(parts.digits)}].push_back(parts.digits);
    }
  }
  for (const auto& [key, numbers] : numbered) {
    add(numbers.size() == 1 ? key.first + numbers[0] : key.first + "[" + ranges(numbers) + "]");
  }
  for (const std::string& name : names) {
    if (split(name).digits.empty()) add(name);
  }
  return text;
}

}  // namespace muster::remote
