#include "cli/emit_terraform_command.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "emit/aws_module.hpp"
#include "setup/key_pair.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

constexpr mode_t kModuleFolder = 0755;
constexpr mode_t kModuleFile = 0644;

struct TerraformOptions {
  std::string provider = "aws";
  std::string folder;
  emit::AwsOptions aws;
  bool force = false;
};

// The files to write: those that the folder lacks or has with different content. Different content
// is an error without --force.
Result<std::vector<emit::File>> files_to_write(const TerraformOptions& options,
                                               const std::string& folder) {
  std::vector<emit::File> result;
  for (emit::File& file : emit::aws_files(options.aws)) {
    const std::string path = folder + "/" + file.path;
    if (sys::exists(path)) {
      MUSTER_TRY(const std::string content, sys::read_file(path));
      if (content == file.content) continue;
      if (!options.force) {
        return unexpected(Error{.code = ErrorCode::kUsage,
                                .what = "this file differs from what muster would write",
                                .where = {.file = path},
                                .hint = "to overwrite all files except the keys: --force"});
      }
    }
    result.push_back(std::move(file));
  }
  return result;
}

// Keeps keys that exist, because instances may already use them.
Result<void> make_missing_keys(const TerraformOptions& options, const std::string& folder) {
  MUSTER_CHECK(sys::make_private_folder(folder + "/keys"));
  for (const std::string& key : emit::aws_keys(options.aws)) {
    const std::string path = folder + "/" + key;
    if (sys::exists(path)) continue;
    MUSTER_CHECK(setup::make_key_pair(path, "muster"));
    sys::print_out("wrote {} and {}.pub\n", path, path);
  }
  return {};
}

Result<int> emit_terraform(const TerraformOptions& options) {
  MUSTER_CHECK(emit::check(options.aws));
  std::error_code code;
  std::string folder = std::filesystem::absolute(options.folder, code).lexically_normal();
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  MUSTER_CHECK(sys::make_folders(folder, kModuleFolder));
  MUSTER_TRY(const std::vector<emit::File> files, files_to_write(options, folder));
  MUSTER_CHECK(make_missing_keys(options, folder));
  for (const emit::File& file : files) {
    MUSTER_CHECK(sys::write_file(folder + "/" + file.path, file.content, kModuleFile));
    sys::print_out("wrote {}/{}\n", folder, file.path);
  }
  if (files.empty()) sys::print_out("{}: already up to date\n", folder);
  sys::print_out(
      "muster has only written files. To create or change the instances, which cost money until "
      "you "
      "destroy them:\n  cd {} && terraform init && terraform apply\n",
      sys::quote(folder));
  return 0;
}

void add_instance_flags(CLI::App& command, emit::AwsOptions& aws) {
  constexpr auto kGroup = "Instances";
  const auto add = [&](const char* name, auto& value, const char* about) {
    return command.add_option(name, value, about)->capture_default_str()->group(kGroup);
  };
  add("--type", aws.worker_type, "Instance type of the workers, which run the ranks")
      ->required()
      ->type_name("TYPE");
  add("-N,--nodes", aws.workers, "Number of hosts that run ranks (workers)")
      ->check(CLI::Range(1, emit::kMaxWorkers))
      ->type_name("N");
  add("--launcher-type", aws.launcher_type, "Instance type of the launcher")->type_name("TYPE");
  add("--ssh-from", aws.ssh_from, "The one IPv4 address that may log in by ssh: yours")
      ->required()
      ->type_name("ADDRESS");
  add("--region", aws.region, "Region of the provider")->type_name("REGION");
  add("--ami", aws.image, "Machine image of Ubuntu; default: 24.04")->type_name("AMI");
  add("--user", aws.user, "User to log in as, which the image chooses")->type_name("USER");
  add("--disk", aws.disk_gib, "Size of each instance's disk in GiB")
      ->check(CLI::Range(8, 16384))
      ->type_name("GIB");
  command
      .add_flag("--placement-group", aws.placement_group,
                "Put the workers close together, for low latency")
      ->group(kGroup);
}

}  // namespace

void add_emit_terraform(CLI::App& emit, Action& action) {
  auto options = std::make_shared<TerraformOptions>();
  CLI::App* command = emit.add_subcommand(
      "terraform", "Write a Terraform module for a launcher and workers in a cloud");
  command->footer(
      "Terraform then creates the instances; see docs/guides/cloud.md.\n\n"
      "Examples:\n"
      "  muster emit terraform --to aws --type c7i.large --ssh-from 192.0.2.7\n"
      "  muster emit terraform --to aws -N 4 --type p5.48xlarge --ssh-from 192.0.2.7");
  command->add_option("--to", options->folder, "Directory for the module and its keys")
      ->required()
      ->type_name("PATH");
  command->add_option("--provider", options->provider, "Cloud provider")
      ->capture_default_str()
      ->check(CLI::IsMember({"aws"}))
      ->type_name("PROVIDER");
  command->add_option("--name", options->aws.name, "Name of the cluster and of all that it has")
      ->capture_default_str()
      ->type_name("NAME");
  command->add_flag("--force", options->force,
                    "Overwrite the files that muster wrote earlier, but keep its keys");
  add_instance_flags(*command, options->aws);
  command->callback(
      [options, &action] { action = [options] { return emit_terraform(*options); }; });
}

}  // namespace muster::cli
