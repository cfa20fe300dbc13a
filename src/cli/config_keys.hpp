// The keys of muster.yaml, each with the flag that has the same meaning. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hosts/config.hpp"

namespace muster::cli {

// What kind of value a key has, for the schema. The flag checks the value itself.
enum class KeyType {
  kText,
  kCount,  // at least 1
  kCountFrom0,
  kRanksPerHost,  // a count, or auto, cpu or gpu
  kNodes,         // a count, or MIN:MAX
  kEngine,
  kYesNo,
  kDuration,
  kSize,    // a number of bytes, or one with a unit
  kOutput,  // the ranks whose output is shown
  kPath,
  kPort,
  kWords,  // a text, or a list of texts
};

struct ConfigKey {
  std::string_view name;
  std::string_view flag;  // long name
  KeyType type = KeyType::kText;
  std::string_view off_flag = {};  // for a kYesNo key: the flag that means false
};

// All keys that have a flag, which belongs to `run`. The others are `environment`, `env_file` and
// `profiles`.
[[nodiscard]] std::span<const ConfigKey> config_keys();

// Only the keys that describe the job, for hosts::parse_config.
[[nodiscard]] std::span<const hosts::JobKey> job_keys();

// A JSON schema of muster.yaml, for editors.
[[nodiscard]] std::string config_schema();

}  // namespace muster::cli
