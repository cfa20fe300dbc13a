#include "cli/bundle_command.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "run/builds.hpp"
#include "setup/bundle_writer.hpp"
#include "sys/print.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

void print_next_steps(const std::string& folder, const BundleRequest& request,
                      const setup::BundleOptions& options, bool owner_set) {
  const std::string quoted = sys::quote(folder);
  if (!owner_set) {
    sys::print_out(
        "The container's user must own these directories; run as root:\n  chown -R {0} "
        "{1}/launcher {1}/runs {1}/workers/*\n",
        request.owner, quoted);
  }
  const std::vector<std::string> workers = setup::worker_names(options);
  if (options.network == "host") {
    sys::print_out(
        "Copy {0}/run-worker.sh and, for each worker, its own directory of {0}/workers to that "
        "machine, with owner and modes (for example with rsync -aR as root). Do not copy "
        "{0}/launcher, which holds the private key.\n",
        quoted);
  }
  sys::print_out("Start the workers: run-worker.sh {}\nThen, for {}: {}/run-launcher.sh\n",
                 fmt::join(workers, ", run-worker.sh "), options.hosts.front(), quoted);
}

// Copies all builds of muster that are installed here. A build that is no longer installed is
// removed, because the launcher's container would send that old version to hosts.
Result<void> copy_programs(const std::string& folder, std::vector<std::string>& changed) {
  for (const run::Build& build : run::find_builds()) {
    const std::string name = setup::program_name(build.machine);
    std::error_code failed;
    if (!std::filesystem::exists(build.path, failed) && !failed) {
      std::filesystem::remove(folder + "/" + name, failed);
      if (!failed) continue;
      return unexpected(Error{.what = "cannot remove the old file: " + failed.message(),
                              .where = {.file = folder + "/" + name}});
    }
    MUSTER_TRY(const bool copied, setup::copy_program(build.path, folder + "/" + name));
    if (copied) changed.push_back(name);
  }
  return {};
}

}  // namespace

void add_bundle_options(CLI::App& command, BundleRequest& request) {
  constexpr auto kGroup = "Containers";
  CLI::Option* bundle =
      command.add_option("--bundle", request.folder,
                         "Write ssh directories and start scripts for containers to this "
                         "directory; the first host is where jobs are started");
  bundle->type_name("PATH")->group(kGroup);
  const auto add = [&](const char* name, std::string& value, const char* about) {
    return command.add_option(name, value, about)
        ->capture_default_str()
        ->needs(bundle)
        ->group(kGroup);
  };
  add("--owner", request.owner, "Numeric user and group id in the container")->type_name("IDS");
  add("--home", request.home, "The user's home directory in the container")->type_name("PATH");
  add("--image", request.image, "Container image");
  add("--workload", request.workload,
      "Directory on each machine to mount as /workload in the container")
      ->type_name("PATH");
  add("--network", request.network,
      "Network of the containers: host for that of their machines, or the name of a network on "
      "one machine, which the scripts create");
  add("--subnet", request.subnet, "Subnet of that network, such as 198.18.50.0/24");
  command
      .add_flag("--force", request.force,
                "Overwrite the files that muster wrote earlier, but keep its keys")
      ->needs(bundle)
      ->group(kGroup);
}

Result<int> make_bundle(const BundleRequest& request, const hosts::Cluster& cluster) {
  setup::BundleOptions options{.user = cluster.user, .home = request.home, .image = request.image};
  options.network = request.network;
  options.subnet = request.subnet;
  for (const hosts::Host& host : cluster.hosts) options.hosts.push_back(host.name);
  MUSTER_TRY(options.owner, setup::parse_owner(request.owner));
  if (cluster.port != 0) options.port = cluster.port;
  std::error_code code;
  if (!request.workload.empty()) {
    options.workload = std::filesystem::absolute(request.workload, code).lexically_normal();
    if (!std::filesystem::is_directory(options.workload, code)) {
      sys::print_err(
          "muster: {} is not a directory on this machine; the scripts need it on every "
          "machine that runs a container\n",
          options.workload);
    }
  }
  std::string folder = std::filesystem::absolute(request.folder, code).lexically_normal();
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  MUSTER_TRY(auto written, setup::write_bundle(folder, options, request.force));
  MUSTER_CHECK(copy_programs(folder, written.changed));
  if (written.changed.empty()) sys::print_out("{}: already up to date\n", folder);
  for (const std::string& path : written.changed) sys::print_out("wrote {}/{}\n", folder, path);
  print_next_steps(folder, request, options, written.owner_set);
  return 0;
}

}  // namespace muster::cli
