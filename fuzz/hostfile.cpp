#include "hosts/hostfile.hpp"

#include <cstdint>

#include "good_hosts.hpp"
#include "hosts/terraform.hpp"

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

// Parses the text as Terraform's output, which `muster hosts --terraform` reads.
void check_terraform(std::string_view text) {
  const auto instances = hosts::parse_terraform({.text = text, .limit = kLimit});
  if (!instances) return require_good_error(instances.error());
  std::vector<hosts::Host> list = {{.name = instances->launcher.private_address}};
  for (const hosts::Instance& worker : instances->workers) {
    list.push_back({.name = worker.private_address});
    require(worker.host_key.find_first_of("\n\r\t") == std::string::npos, "a key is one line");
  }
  require(list.size() > 1, "there are workers");
  list.pop_back();  // the limit does not count the launcher
  require_good_hosts(list);
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  muster::fuzz::check(text);
  muster::fuzz::check_terraform(text);
  return 0;
}
