#include "emit/aws_module.hpp"

#include <algorithm>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "hosts/name.hpp"
#include "hosts/source.hpp"

namespace muster::emit {
namespace {

// Terraform's state and plans describe existing machines and may hold secrets, and keys are
// secrets.
constexpr std::string_view kGitIgnore =
    "keys/\n"
    "*.tfstate\n"
    "*.tfstate.*\n"
    "*.tfplan\n"
    ".terraform/\n";

Error refused_for_aws(std::string what, std::string hint) {
  return {.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)};
}

bool consists_of(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [more](char c) {
    return hosts::is_digit(c) || (c >= 'a' && c <= 'z') || more.find(c) != std::string_view::npos;
  });
}

// Accepts a type such as "c7i.2xlarge".
bool is_instance_type(std::string_view text) {
  const std::size_t dot = text.find('.');
  return dot != std::string_view::npos && consists_of(text.substr(0, dot), "-") &&
         consists_of(text.substr(dot + 1), "-");
}

// True for t2, t3, t3a and t4g, but not for trn1.
bool is_burstable(std::string_view type) {
  return type.size() > 1 && type.front() == 't' && hosts::is_digit(type[1]);
}

Result<void> check_address(const std::string& address) {
  in_addr parsed{};
  if (::inet_pton(AF_INET, address.c_str(), &parsed) == 1 && parsed.s_addr != INADDR_ANY) return {};
  return unexpected(refused_for_aws(
      fmt::format("--ssh-from {} is not one IPv4 address", hosts::excerpt(address)),
      "pass the address from which you reach the internet, such as 203.0.113.7; only this "
      "address can log in"));
}

Result<void> check_type(const char* flag, const std::string& type) {
  if (is_instance_type(type)) return {};
  return unexpected(
      refused_for_aws(fmt::format("{} {} is not an instance type", flag, hosts::excerpt(type)),
                      "an instance type looks like c7i.2xlarge"));
}

Result<void> check_aws_names(const AwsOptions& options) {
  const bool name_is_good = consists_of(options.name, "-") && options.name.size() <= 40;
  if (!name_is_good || options.name.starts_with("sg-")) {
    return unexpected(
        refused_for_aws(fmt::format("--name {} cannot be used", hosts::excerpt(options.name)),
                        "use up to 40 lower-case letters, digits and '-', not beginning "
                        "with sg-"));
  }
  if (!consists_of(options.region, "-")) {
    return unexpected(
        refused_for_aws(fmt::format("--region {} is not a region", hosts::excerpt(options.region)),
                        "a region looks like eu-central-1"));
  }
  const bool is_image = options.image.starts_with("ami-") && consists_of(options.image, "-");
  if (!options.image.empty() && !is_image) {
    return unexpected(
        refused_for_aws(fmt::format("--ami {} is not an image", hosts::excerpt(options.image)),
                        "an image (AMI) looks like ami-0123456789abcdef0"));
  }
  if (!hosts::is_name(options.user)) {
    return unexpected(
        refused_for_aws(fmt::format("--user {} is not a user name", hosts::excerpt(options.user)),
                        "name the user that the image has for logins, such as ubuntu"));
  }
  return {};
}

// All texts have been checked before: none contains a quote, a backslash or a dollar sign.
std::string tfvars(const AwsOptions& options) {
  return fmt::format(
      "# Written by \"muster emit terraform\". variables.tf explains these values and has some "
      "more.\n"
      "name            = \"{}\"\n"
      "region          = \"{}\"\n"
      "launcher_type   = \"{}\"\n"
      "worker_type     = \"{}\"\n"
      "workers         = {}\n"
      "ssh_from        = \"{}\"\n"
      "placement_group = {}\n"
      "image           = \"{}\"\n"
      "user            = \"{}\"\n"
      "disk_gib        = {}\n",
      options.name, options.region, options.launcher_type, options.worker_type, options.workers,
      options.ssh_from, options.placement_group, options.image, options.user, options.disk_gib);
}

}  // namespace

Result<void> check(const AwsOptions& options) {
  MUSTER_CHECK(check_address(options.ssh_from));
  MUSTER_CHECK(check_type("--type", options.worker_type));
  MUSTER_CHECK(check_type("--launcher-type", options.launcher_type));
  MUSTER_CHECK(check_aws_names(options));
  if (options.placement_group && is_burstable(options.worker_type)) {
    return unexpected(refused_for_aws(
        fmt::format("AWS puts no {} into a placement group", options.worker_type),
        "choose a type that is not burstable (t2, t3, t4g), or leave --placement-group "
        "out"));
  }
  return {};
}

std::vector<File> aws_files(const AwsOptions& options) {
  std::vector<File> files = aws_module_files();
  files.push_back({.path = "terraform.tfvars", .content = tfvars(options)});
  files.push_back({.path = ".gitignore", .content = std::string(kGitIgnore)});
  return files;
}

std::vector<std::string> aws_keys(const AwsOptions& options) {
  std::vector<std::string> keys = {"keys/login", "keys/launcher"};
  for (int i = 1; i <= options.workers; ++i) keys.push_back(fmt::format("keys/worker-{}", i));
  return keys;
}

}  // namespace muster::emit
