#include <memory>

#include <fmt/format.h>

#include "cli/cluster_options.hpp"
#include "cli/command.hpp"
#include "remote/ssh.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

struct ExecOptions {
  ClusterOptions cluster;
  std::vector<std::string> words;
};

Result<int> exec(const ExecOptions& options) {
  MUSTER_TRY(const hosts::Cluster cluster, read_cluster(options.cluster));
  remote::Ssh ssh({.user = cluster.user, .port = cluster.port});
  std::vector<remote::Task> tasks;
  for (const hosts::Host& host : cluster.hosts) {
    tasks.push_back({.host = host.name, .command = sys::quote(options.words)});
  }
  for (const remote::Outcome& outcome : ssh.run(tasks, std::chrono::minutes(1))) {
    fmt::print("{}: {}", outcome.host,
               outcome.ended ? outcome.ended->out : to_text(outcome.ended.error()) + "\n");
  }
  return 0;
}

}  // namespace

void add_exec(CLI::App& app, Action& action, const Program& program) {
  auto options = std::make_shared<ExecOptions>();
  CLI::App* command = app.add_subcommand("exec", "Run a command on all hosts");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action, &program] {
    options->words = program;
    action = [options] { return exec(*options); };
  });
}

}  // namespace muster::cli
