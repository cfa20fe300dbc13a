#include "layout/network.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include <fmt/format.h>

namespace muster::layout {
namespace {

constexpr int kBits = 32;

std::uint32_t mask(int prefix) {
  return prefix == 0 ? 0 : ~std::uint32_t{0} << (kBits - prefix);
}

// The number that is all of `text`, from 0 to `most`.
std::optional<int> parse_number(std::string_view text, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number > most) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = text.find('.');
    if ((dot == std::string_view::npos) != (part == 3)) return std::nullopt;
    const auto number = parse_number(text.substr(0, dot), 255);
    if (!number) return std::nullopt;
    address = (address << 8U) | static_cast<std::uint32_t>(*number);
    text.remove_prefix(part == 3 ? text.size() : dot + 1);
  }
  return address;
}

std::string ipv4_text(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24U, (address >> 16U) & 255U, (address >> 8U) & 255U,
                     address & 255U);
}

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto prefix = parse_number(text.substr(slash + 1), kBits);
  if (!prefix) return std::nullopt;
  return network_of({.ip = std::string(text.substr(0, slash)), .prefix = *prefix});
}

std::string to_text(const Network& network) {
  return fmt::format("{}/{}", ipv4_text(network.base), network.prefix);
}

std::optional<Network> network_of(const facts::Address& address) {
  const auto ip = parse_ipv4(address.ip);
  if (!ip || address.prefix < 0 || address.prefix > kBits) return std::nullopt;
  return Network{.base = *ip & mask(address.prefix), .prefix = address.prefix};
}

bool contains(const Network& network, std::uint32_t address) {
  return (address & mask(network.prefix)) == network.base;
}

Network cover(std::span<const std::uint32_t> addresses) {
  std::uint32_t differing = 0;
  for (const std::uint32_t address : addresses) differing |= address ^ addresses.front();
  const int prefix = std::countl_zero(differing);
  return {.base = addresses.front() & mask(prefix), .prefix = prefix};
}

bool can_be_a_hosts(const Network& network, std::uint32_t address) {
  if (address >> 28U >= 14 || address >> 24U == 0) return false;
  if (network.prefix >= kBits - 1) return true;  // has neither a name nor a broadcast
  return address != network.base && address != (network.base | ~mask(network.prefix));
}

bool is_loopback(std::uint32_t address) {
  return address >> 24U == 127;
}

bool is_link_local(std::uint32_t address) {
  return address >> 16U == (169U << 8U | 254U);
}

bool is_private(std::uint32_t address) {
  constexpr std::array<Network, 5> kRanges = {{{10U << 24U, 8},
                                               {172U << 24U | 16U << 16U, 12},
                                               {192U << 24U | 168U << 16U, 16},
                                               {100U << 24U | 64U << 16U, 10},
                                               {198U << 24U | 18U << 16U, 15}}};
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [&](const Network& range) { return contains(range, address); });
}

}  // namespace muster::layout
