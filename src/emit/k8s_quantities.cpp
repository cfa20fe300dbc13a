#include "emit/k8s_quantities.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/printable.hpp"

namespace muster::emit {
namespace {

constexpr int kMostDevices = 100'000;

struct Unit {
  std::string_view suffix;
  double bytes;
};
constexpr std::array kUnits = {Unit{"", 1},        Unit{"k", 1e3},     Unit{"M", 1e6},
                               Unit{"G", 1e9},     Unit{"T", 1e12},    Unit{"P", 1e15},
                               Unit{"E", 1e18},    Unit{"Ki", 0x1p10}, Unit{"Mi", 0x1p20},
                               Unit{"Gi", 0x1p30}, Unit{"Ti", 0x1p40}, Unit{"Pi", 0x1p50},
                               Unit{"Ei", 0x1p60}};

// Returns the length of the number at the start of the text; 0 if there is none. The number may
// contain one '.'.
std::size_t number_length(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, end);
  const bool is_number = !number.empty() && number.front() != '.' && number.back() != '.' &&
                         std::count(number.begin(), number.end(), '.') <= 1;
  return is_number ? end : 0;
}

double number_in(std::string_view text) {
  double number = 0;
  (void)std::from_chars(text.data(), text.data() + number_length(text), number);
  return number;
}

const Unit* find_unit(std::string_view suffix) {
  const auto found = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const Unit& unit) { return unit.suffix == suffix; });
  return found == kUnits.end() ? nullptr : &*found;
}

Refusal refuse_number(std::string_view text) {
  if (text.empty()) return "it is empty";
  if (text.front() == '-') return "it is negative";
  if (number_length(text) == 0) return "it does not begin with a number";
  if (number_in(text) <= 0) return "it is zero";
  return std::nullopt;
}

// True for "e3". "E" alone is a unit.
bool has_exponent(std::string_view suffix) {
  return suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E') &&
         suffix.find_first_not_of("+-0123456789", 1) == std::string_view::npos;
}

// Returns the unit that a user probably means with GB, gb, GiB or g.
std::string meant_unit(std::string_view suffix) {
  if (suffix.empty() || suffix.front() == ' ') return "Gi";
  const char first = suffix.front();
  const char upper = static_cast<char>(first >= 'a' && first <= 'z' ? first - 'a' + 'A' : first);
  const std::string binary = std::string(1, upper) + "i";
  return find_unit(binary) == nullptr ? "Gi" : binary;
}

}  // namespace

Refusal refuse_cpu(std::string_view text) {
  if (auto bad = refuse_number(text)) return bad;
  const std::string_view suffix = text.substr(number_length(text));
  if (suffix.empty() && number_in(text) < 0.001)
    return "a CPU has a thousand parts: 1m is the least";
  if (suffix.empty()) return std::nullopt;
  if (suffix != "m") {
    return fmt::format("'{}' is no unit of CPUs; write 4, or 500m for half a CPU",
                       printable(suffix));
  }
  if (text.find('.') != std::string_view::npos) return "thousandths of a CPU cannot be divided";
  return std::nullopt;
}

Refusal refuse_bytes(std::string_view text) {
  if (auto bad = refuse_number(text)) return bad;
  const std::size_t end = number_length(text);
  const std::string_view suffix = text.substr(end);
  if (suffix == "m") return "'m' means thousandths of a byte; write M or Mi for megabytes";
  if (find_unit(suffix) != nullptr) return std::nullopt;
  if (suffix.front() == ',') return "a fraction has a point, as in 1.5Gi";
  if (has_exponent(suffix)) return "write it without an exponent, as in 2000 or 2Ki";
  return fmt::format("'{}' is no unit of Kubernetes; write {}{}", printable(suffix),
                     text.substr(0, end), meant_unit(suffix));
}

Refusal refuse_device_count(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number > 0 &&
      number <= kMostDevices) {
    return std::nullopt;
  }
  return fmt::format("'{}' is not a whole number from 1 on, and devices cannot be divided",
                     printable(text));
}

double bytes_of(std::string_view text) {
  const Unit* unit = find_unit(text.substr(number_length(text)));
  return unit == nullptr ? 0 : number_in(text) * unit->bytes;
}

}  // namespace muster::emit
