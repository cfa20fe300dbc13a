// A Terraform module for a launcher and workers on AWS. The text of the module (src/emit/aws) is
// always the same; the user's values are in terraform.tfvars beside it. Pure: other code makes the
// keys.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "emit/file.hpp"

namespace muster::emit {

struct AwsOptions {
  std::string ssh_from;  // the only IPv4 address that may log in
  std::string worker_type;
  int workers = 2;
  std::string launcher_type = "t3.micro";
  std::string region = "us-east-1";
  std::string name = "muster";
  std::string image = {};  // empty: Ubuntu 24.04
  std::string user = "ubuntu";
  int disk_gib = 40;
  bool placement_group = false;
};

constexpr int kMaxWorkers = 1000;  // each needs a key pair and an address in the module's subnet

// Rejects options that AWS or the module would reject later.
[[nodiscard]] Result<void> check(const AwsOptions& options);

// Returns all files except the keys.
[[nodiscard]] std::vector<File> aws_files(const AwsOptions& options);

// Returns the names of the private keys that the module needs, each with its public half in
// NAME.pub: first the one for logins, then one host key per instance.
[[nodiscard]] std::vector<std::string> aws_keys(const AwsOptions& options);

// Returns the files that do not depend on the options.
[[nodiscard]] std::vector<File> aws_module_files();

}  // namespace muster::emit
