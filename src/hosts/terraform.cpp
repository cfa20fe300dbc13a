#include "hosts/terraform.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/json_fields.hpp"
#include "hosts/name.hpp"

namespace muster::hosts {

struct TerraformValue {
  Instances value;
};

struct TerraformOutputs {
  TerraformValue muster;
};

template <class V>
void fields(V& v, Instance& instance) {
  v("public", instance.public_address), v("private", instance.private_address),
      v("host_key", instance.host_key);
}

template <class V>
void fields(V& v, Instances& instances) {
  v("user", instances.user), v("launcher", instances.launcher), v("workers", instances.workers);
}

template <class V>
void fields(V& v, TerraformValue& output) {
  v("value", output.value);
}

template <class V>
void fields(V& v, TerraformOutputs& outputs) {
  v("muster", outputs.muster);
}

namespace {

Error not_terraform(const Source& source, const std::string& why) {
  return {.code = ErrorCode::kUsage,
          .what = "this is not the output of a module that 'muster emit terraform' wrote: " + why,
          .where = {.file = source.name},
          .hint =
              "run in the module's directory, after terraform apply: terraform output -json | "
              "muster hosts --terraform -"};
}

bool is_address(const std::string& text) {
  return is_name(text) || is_ipv6(text);
}

// Removes the comment of "ssh-ed25519 AAAAC3... comment". Empty if the text is not a key.
std::string key_without_comment(const std::string& text) {
  const std::size_t type_end = text.find(' ');
  if (type_end == std::string::npos) return {};
  const std::size_t end = std::min(text.find(' ', type_end + 1), text.size());
  const std::string type = text.substr(0, type_end);
  const std::string key = text.substr(type_end + 1, end - type_end - 1);
  const bool type_is_good =
      is_name(type) && (type.starts_with("ssh-") || type.starts_with("ecdsa-"));
  const bool key_is_good =
      key.starts_with("AAAA") && std::all_of(key.begin(), key.end(), [](char c) {
        return is_name_char(c) ? c != '.' && c != '_' && c != '-'
                               : c == '+' || c == '/' || c == '=';
      });
  return type_is_good && key_is_good ? type + " " + key : "";
}

// Checks and normalises an instance. Returns what is wrong with it; empty if nothing is.
std::string take_instance(Instance& instance, std::set<std::string>& seen) {
  for (const std::string* address : {&instance.public_address, &instance.private_address}) {
    if (address->empty() && address == &instance.public_address) continue;
    if (!is_address(*address)) return fmt::format("{} is not an address", excerpt(*address));
    if (!seen.insert(*address).second) return fmt::format("{} is there twice", excerpt(*address));
  }
  const std::string key = key_without_comment(instance.host_key);
  if (key.empty()) return fmt::format("{} is not a public host key", excerpt(instance.host_key));
  instance.host_key = key;
  return {};
}

std::string take_instances(Instances& instances, std::size_t limit) {
  if (!is_user(instances.user)) return fmt::format("{} is not a user", excerpt(instances.user));
  if (instances.workers.empty()) return "it has no workers";
  if (instances.workers.size() > limit) return fmt::format("it has more than {} workers", limit);
  std::set<std::string> seen;
  std::string wrong = take_instance(instances.launcher, seen);
  for (Instance& worker : instances.workers) {
    if (wrong.empty()) wrong = take_instance(worker, seen);
  }
  return wrong;
}

}  // namespace

Result<Instances> parse_terraform(const Source& source) {
  auto outputs = read_fields<TerraformOutputs>(std::string(source.text));
  if (!outputs) return unexpected(not_terraform(source, outputs.error().what));
  Instances instances = std::move(outputs->muster.value);
  const std::string wrong = take_instances(instances, source.limit);
  if (!wrong.empty()) return unexpected(not_terraform(source, wrong));
  return instances;
}

std::string known_hosts(const Instances& instances) {
  std::string text;
  const auto add = [&text](const Instance& instance) {
    const char* comma = instance.public_address.empty() ? "" : ",";
    text += fmt::format("{}{}{} {}\n", instance.public_address, comma, instance.private_address,
                        instance.host_key);
  };
  add(instances.launcher);
  for (const Instance& worker : instances.workers) add(worker);
  return text;
}

}  // namespace muster::hosts
