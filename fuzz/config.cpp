#include "hosts/config.hpp"

#include <array>
#include <cstdint>

#include "good_hosts.hpp"

namespace muster::fuzz {
namespace {

constexpr std::array kJobKeys = {
    hosts::JobKey{.name = "activate"},
    hosts::JobKey{.name = "sync", .form = hosts::Form::kYesNo},
    hosts::JobKey{.name = "engine_args", .form = hosts::Form::kWords},
};

void require_good_variables(std::span<const hosts::Variable> variables) {
  for (const hosts::Variable& one : variables) {
    require(hosts::is_variable_name(one.name), "only good names");
    require(!one.value || one.value->find('\0') == std::string::npos, "a value has no NUL");
  }
}

void check_variables(std::string_view text) {
  const auto variables = hosts::parse_variables({.text = text});
  if (!variables) return require_good_error(variables.error());
  require_good_variables(*variables);
}

void check(std::string_view text) {
  check_variables(text);
  const auto config = hosts::parse_config(
      {.text = text, .limit = kLimit},
      {.job_keys = kJobKeys, .profile = text.find("big:") != text.npos ? "big" : ""});
  if (!config) return require_good_error(config.error());
  require_good_variables(config->variables);
  for (const hosts::Setting& setting : config->settings) {
    require(!setting.values.empty() && setting.where.line > 0, "every key has a value and a place");
  }
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
