#include <cstdint>

#include "good_hosts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto hosts = muster::hosts::parse_expression({.text = text, .limit = muster::fuzz::kLimit});
  if (hosts) {
    muster::fuzz::require_good_hosts(*hosts);
  } else {
    muster::fuzz::require_good_error(hosts.error());
  }
  return 0;
}
