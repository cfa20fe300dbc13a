#include "hosts/config.hpp"

#include <cstdint>

#include "good_hosts.hpp"

namespace muster::fuzz {
namespace {

void check(std::string_view text) {
  const auto config = hosts::parse_config({.text = text, .limit = kLimit});
  if (!config) return require_good_error(config.error());
  if (!config->hosts.empty()) require_good_hosts(config->hosts);
  require(config->hosts.empty() || config->hostfile.empty(), "one list of hosts at most");
  require(config->user.empty() || hosts::is_user(config->user), "only good users");
  require(config->port >= 0 && config->port <= 65535, "only good ports");
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
