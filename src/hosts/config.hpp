// muster.yaml: one description of the cluster and the job for all commands.
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

// The form of a key's value.
enum class Form {
  kValue,  // one value
  kPath,   // one path, relative to the directory of the file
  kYesNo,  // true or false
  kWords,  // one value or a list
};

// A key that describes the job. Only the caller knows what its values mean.
struct JobKey {
  std::string_view name;
  Form form = Form::kValue;
  // "--max-restarts". An unknown key that is spelled like this flag gets a hint to this key.
  std::string_view flag = {};
};

// A key with its values, as in the file.
struct Setting {
  std::string key;
  std::vector<std::string> values = {};
  Where where = {};          // position of the first value
  std::string profile = {};  // the profile that contains the key; empty: not in a profile
};

struct Config {
  std::vector<Host> hosts = {};  // empty if not given; never set together with `hostfile`
  std::string hostfile = {};     // as in the file; relative to the directory of muster.yaml
  std::string user = {};
  int port = 0;
  std::optional<Selection> include = std::nullopt;
  std::optional<Selection> exclude = std::nullopt;
  std::vector<Setting> settings = {};    // all keys that apply, except `environment`
  std::vector<Variable> variables = {};  // from `environment`; the last one of a name counts
  std::vector<std::string> profiles = {};

  [[nodiscard]] const Setting* find(std::string_view key) const;
};

struct ConfigRequest {
  std::span<const JobKey> job_keys = {};
  std::string profile = {};  // the requested profile; empty: none
};

// Rejects unknown keys, wrong types and duplicate keys, with their position. Reads only the
// requested profile. Does not throw.
[[nodiscard]] Result<Config> parse_config(const Source& source, const ConfigRequest& request = {});

// Whether `key`, given in a profile or as a flag, makes the file's value of `other` meaningless.
// For example, other hosts make the file's `exclude` meaningless, and another engine its
// `engine_args`.
[[nodiscard]] bool sets_aside(std::string_view key, std::string_view other);

}  // namespace muster::hosts
