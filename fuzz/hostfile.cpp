#include "hosts/hostfile.hpp"

#include <cstdint>

#include "good_hosts.hpp"

namespace muster::fuzz {
namespace {

void require_round_trip(const std::vector<hosts::Host>& list, hosts::Dialect dialect) {
  const auto text = hosts::to_hostfile(list, dialect);
  require(text.has_value(), "the hosts can be written");
  const auto again = hosts::parse_hostfile({.text = *text, .limit = kLimit});
  require(again.has_value() && again->hosts == list, "what was written is read back as the same");
}

void check(std::string_view text) {
  const auto file = hosts::parse_hostfile({.text = text, .limit = kLimit});
  if (!file) return require_good_error(file.error());
  require_good_hosts(file->hosts);
  require_round_trip(file->hosts, hosts::Dialect::kOpenMpi);
  require_round_trip(file->hosts, hosts::Dialect::kHydra);
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
