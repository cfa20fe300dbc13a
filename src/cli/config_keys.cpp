#include "cli/config_keys.hpp"

#include <iterator>
#include <vector>

namespace muster::cli {
namespace {

constexpr ConfigKey kHostKeys[] = {
    {"hosts", "--hosts", KeyType::kWords},     {"hostfile", "--hostfile", KeyType::kPath},
    {"user", "--user", KeyType::kText},        {"port", "--port", KeyType::kPort},
    {"include", "--include", KeyType::kWords}, {"exclude", "--exclude", KeyType::kWords},
};

constexpr ConfigKey kJobKeys[] = {
    {"ranks", "--np", KeyType::kCount},
    {"ranks_per_host", "--nproc-per-node", KeyType::kRanksPerHost},
    {"nodes", "--nnodes", KeyType::kNodes},
    {"threads", "--threads", KeyType::kCount},
    {"bind_to", "--bind-to", KeyType::kText},
    {"engine", "--engine", KeyType::kEngine},
    {"engine_args", "--engine-arg", KeyType::kWords},
    {"launcher", "--launcher", KeyType::kPath},
    {"slurm_args", "--slurm-arg", KeyType::kWords},
    {"activate", "--activate", KeyType::kText},
    {"sync", "--sync", KeyType::kYesNo, "--no-sync"},
    {"restarts", "--max-restarts", KeyType::kCountFrom0},
    {"spares", "--spares", KeyType::kText},
    {"min_nodes", "--min-nodes", KeyType::kCount},
    {"timeout", "--timeout", KeyType::kDuration},
    {"stall_after", "--stall-after", KeyType::kDuration},
    {"idle_after", "--idle-after", KeyType::kDuration},
    {"output", "--show", KeyType::kOutput},
    {"log_limit", "--log-limit", KeyType::kSize},
    {"on_end", "--on-end", KeyType::kText},
};

hosts::Form form_of(KeyType type) {
  switch (type) {
    case KeyType::kYesNo:
      return hosts::Form::kYesNo;
    case KeyType::kPath:
      return hosts::Form::kPath;
    case KeyType::kWords:
      return hosts::Form::kWords;
    default:
      return hosts::Form::kValue;
  }
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all(std::begin(kHostKeys), std::end(kHostKeys));
    all.insert(all.end(), std::begin(kJobKeys), std::end(kJobKeys));
    return all;
  }();
  return keys;
}

std::span<const hosts::JobKey> job_keys() {
  static const std::vector<hosts::JobKey> keys = [] {
    std::vector<hosts::JobKey> all;
    for (const ConfigKey& key : config_keys().subspan(std::size(kHostKeys))) {
      all.push_back({.name = key.name, .form = form_of(key.type), .flag = key.flag});
    }
    return all;
  }();
  return keys;
}

}  // namespace muster::cli
