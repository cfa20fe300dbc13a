// muster.yaml: the cluster and the job, described once for every command.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "hosts/host.hpp"
#include "hosts/selection.hpp"
#include "hosts/source.hpp"
#include "hosts/variables.hpp"

namespace muster::hosts {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

// How a key is written.
enum class Form {
  kValue,  // one value
  kPath,   // one path, relative to the folder of the file
  kYesNo,  // true or false
  kWords,  // one value or a list
};

// A key that describes the job. The caller knows what its values mean.
struct JobKey {
  std::string_view name;
  Form form = Form::kValue;
  std::string_view flag = {};  // "--max-restarts"; a key of that name was meant for this one
};

// A key as it was written.
struct Setting {
  std::string key;
  std::vector<std::string> values = {};
  Where where = {};          // of its first value
  std::string profile = {};  // that has the key; empty: the file itself
};

struct Config {
  std::vector<Host> hosts = {};  // empty: not said; never together with `hostfile`
  std::string hostfile = {};     // as written; relative to the folder of the file that says it
  std::string user = {};
  int port = 0;
  std::optional<Selection> include = std::nullopt;
  std::optional<Selection> exclude = std::nullopt;
  std::vector<Setting> settings = {};    // all keys that hold, except `environment`
  std::vector<Variable> variables = {};  // of `environment`; of one name, the last holds
  std::vector<std::string> profiles = {};

  [[nodiscard]] const Setting* find(std::string_view key) const;
};

struct ConfigRequest {
  std::span<const JobKey> job_keys = {};
  std::string profile = {};  // the one that was asked for; empty: none
};

// Unknown keys, wrong types and keys given twice are refused with their place. Only the profile
// that was asked for is read. Throws nothing.
[[nodiscard]] Result<Config> parse_config(const Source& source, const ConfigRequest& request = {});

// Whether `key`, given in a profile or by a flag, makes what the file says for `other` meaningless:
// hosts that were chosen with other hosts in mind, arguments of another engine.
[[nodiscard]] bool sets_aside(std::string_view key, std::string_view other);

}  // namespace muster::hosts
