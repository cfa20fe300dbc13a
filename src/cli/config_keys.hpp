// The keys of muster.yaml, each with the flag that means the same. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hosts/config.hpp"

namespace muster::cli {

// What a key takes, for the schema. The flag itself checks the value.
enum class KeyType {
  kText,
  kCount,  // from 1
  kCountFrom0,
  kRanksPerHost,  // a count, or what a host has of something
  kNodes,         // a count, or MIN:MAX
  kEngine,
  kYesNo,
  kDuration,
  kOutput,  // whose output is shown
  kPath,
  kPort,
  kWords,  // a text or a list of texts
};

struct ConfigKey {
  std::string_view name;
  std::string_view flag;  // its long name
  KeyType type = KeyType::kText;
  std::string_view off_flag = {};  // of a kYesNo key: the flag that means false
};

// Those whose flags `run` has, except `environment`, `env_file` and `profiles`, which have none.
[[nodiscard]] std::span<const ConfigKey> config_keys();

// Those of them that describe the job, for hosts::parse_config.
[[nodiscard]] std::span<const hosts::JobKey> job_keys();

// A JSON schema of muster.yaml, for editors.
[[nodiscard]] std::string config_schema();

}  // namespace muster::cli
