// muster.yaml: what is the same for every command on one cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"
#include "hosts/selection.hpp"
#include "hosts/source.hpp"

namespace muster::hosts {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

struct Config {
  std::vector<Host> hosts = {};  // empty: not said; never together with `hostfile`
  std::string hostfile = {};     // as written; relative to the folder of the file that says it
  std::string user = {};
  int port = 0;
  std::string activate = {};  // shell lines that make the environment ready on a host
  bool sync = false;          // a job brings the project folder to the hosts first
  std::optional<Selection> include = std::nullopt;
  std::optional<Selection> exclude = std::nullopt;
};

// Unknown keys, wrong types and keys given twice are refused with their place. Throws nothing.
[[nodiscard]] Result<Config> parse_config(const Source& source);

}  // namespace muster::hosts
