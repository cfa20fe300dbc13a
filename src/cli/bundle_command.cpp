#include "cli/bundle_command.hpp"

#include <filesystem>

#include <fmt/format.h>

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
        "The container's user must own two of the directories; run as root:\n  chown -R {} "
        "{}/launcher {}/worker\n",
        request.owner, quoted, quoted);
  }
  sys::print_out(
      "Copy {1}/worker and {2}/run-worker.sh to {0} (but not {1}/launcher, which holds the private "
      "key), then run ./run-worker.sh there.\nOn {3}, run {4}/run-launcher.sh\n",
      fmt::join(options.hosts.begin() + 1, options.hosts.end(), ", "), quoted, quoted,
      options.hosts.front(), quoted);
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
  command
      .add_flag("--force", request.force,
                "Overwrite the files that muster wrote earlier, but keep its keys")
      ->needs(bundle)
      ->group(kGroup);
}

Result<int> make_bundle(const BundleRequest& request, const hosts::Cluster& cluster) {
  setup::BundleOptions options{.user = cluster.user, .home = request.home, .image = request.image};
  for (const hosts::Host& host : cluster.hosts) options.hosts.push_back(host.name);
  MUSTER_TRY(options.owner, setup::parse_owner(request.owner));
  if (cluster.port != 0) options.port = cluster.port;
  std::error_code code;
  if (!request.workload.empty()) {
    options.workload = std::filesystem::absolute(request.workload, code).lexically_normal();
  }
  std::string folder = std::filesystem::absolute(request.folder, code).lexically_normal();
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  MUSTER_TRY(const auto written, setup::write_bundle(folder, options, request.force));
  if (written.changed.empty()) sys::print_out("{}: already up to date\n", folder);
  for (const std::string& path : written.changed) sys::print_out("wrote {}/{}\n", folder, path);
  print_next_steps(folder, request, options, written.owner_set);
  return 0;
}

}  // namespace muster::cli
