#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>

#include <fmt/format.h>

#include "cli/cluster_options.hpp"
#include "cli/command.hpp"
#include "cli/this_machine.hpp"
#include "remote/grouped.hpp"
#include "remote/labels.hpp"
#include "remote/outcome.hpp"
#include "remote/ssh.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct ExecOptions {
  ClusterOptions cluster;
  std::vector<std::string> words;
  bool label = false;
  bool json = false;
  std::chrono::seconds::rep timeout_s = 86400;
  std::size_t fan_out = 64;
};

// `extras` are the flags that the parser does not know.
Result<void> check_usage(const ExecOptions& options, const std::vector<std::string>& extras) {
  constexpr auto kExample = "muster exec -H n[1-3] uname -r";
  if (extras.empty() && options.words.empty()) return unexpected(no_program(kExample));
  if (extras.empty()) return {};
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("'{}' is no flag of muster exec", extras.front()),
                          .hint = fmt::format("the command follows the flags: {}", kExample)});
}

// Ends the process when its reader has left, since the commands may run for hours.
void show(sys::Stream stream, const std::string& text) {
  if (stream == sys::Stream::kErr) return sys::write_err(text);
  sys::write_out(text);
  if (sys::output_error() != EPIPE) return;
  (void)std::signal(SIGPIPE, SIG_DFL);
  (void)std::raise(SIGPIPE);
}

// Both streams of one host, shown line by line. The task owns it; shows its unfinished lines
// when the task goes.
class LiveOutput {
 public:
  explicit LiveOutput(const std::string& host) : out_(host), err_(host) {}
  LiveOutput(const LiveOutput&) = delete;
  LiveOutput& operator=(const LiveOutput&) = delete;
  ~LiveOutput() {
    show(sys::Stream::kOut, out_.rest());
    show(sys::Stream::kErr, err_.rest());
  }

  void take(sys::Stream stream, std::string_view chunk) {
    show(stream, (stream == sys::Stream::kOut ? out_ : err_).take(chunk));
  }

 private:
  remote::Labels out_;
  remote::Labels err_;
};

sys::OnOutput live_output(const std::string& host) {
  return [output = std::make_shared<LiveOutput>(host)](sys::Stream stream, std::string_view chunk) {
    output->take(stream, chunk);
  };
}

void print_grouped(std::span<const remote::Outcome> outcomes) {
  std::vector<remote::Said> out;
  std::vector<remote::Said> err;
  for (const remote::Outcome& outcome : outcomes) {
    if (!outcome.ended) continue;
    out.push_back({.host = outcome.host, .text = outcome.ended->out});
    err.push_back({.host = outcome.host, .text = outcome.ended->err});
  }
  for (const remote::Group& group : remote::group_equal(out)) sys::write_out(to_text(group));
  for (const remote::Group& group : remote::group_equal(err)) sys::write_err(to_text(group));
}

Result<int> exec(const ExecOptions& options, const std::vector<std::string>& extras) {
  MUSTER_CHECK(check_usage(options, extras));
  MUSTER_TRY(hosts::Cluster cluster, read_cluster(options.cluster));
  MUSTER_TRY(const std::string here, find_this_machine(cluster, NamedTwice::kOverSsh));
  std::vector<remote::Task> tasks;
  for (const hosts::Host& host : cluster.hosts) {
    tasks.push_back({.host = host.name, .command = remote::command_line(options.words)});
    if (options.label) tasks.back().on_output = live_output(host.name);
  }
  remote::Ssh ssh({.user = cluster.user,
                   .port = cluster.port,
                   .fan_out = options.fan_out,
                   .this_machine = here});
  const auto outcomes = ssh.run(tasks, std::chrono::seconds(options.timeout_s));
  tasks.clear();  // shows the last unfinished lines
  if (options.json) {
    for (const remote::Outcome& outcome : outcomes) sys::write_out(to_json(outcome) + "\n");
  } else if (!options.label) {
    print_grouped(outcomes);
  }
  sys::write_err(remote::failures_text(outcomes));
  const remote::Verdict verdict = remote::verdict(outcomes);
  return verdict.failure ? exit_code(*verdict.failure) : verdict.code;
}

constexpr auto kAbout = "Run a command on all hosts; equal output is shown once";

constexpr auto kMoreOfExec =
    "The command begins at the first word that belongs to no flag, or after --. A single word is a "
    "line for the hosts' shell:\n"
    "  muster exec -H n[1-3] 'ls *.py | wc -l'\n"
    "Several words are a program and its arguments, each quoted for the shell:\n"
    "  muster exec -H n[1-3] ls '*.py'\n\n"
    "The command reads no input. Ends with 0 when it ended well everywhere, 4 when a host was not "
    "reached, 124 when --timeout passed, otherwise with the highest exit code of the hosts (128+n "
    "for signal n).";

}  // namespace

void add_exec(CLI::App& app, Action& action, const Program& program) {
  auto options = std::make_shared<ExecOptions>();
  CLI::App* command = app.add_subcommand("exec", kAbout);
  command->footer(kMoreOfExec);
  command->allow_extras();  // an unknown flag gets our own error, which shows how to write it
  add_cluster_options(*command, options->cluster);
  auto* label = command->add_flag("-l,--label", options->label,
                                  "Show each line as it comes, as 'host: line'");
  command->add_flag("--json", options->json, "One JSON object a host, a line each")
      ->excludes(label);
  command
      ->add_option("--timeout", options->timeout_s,
                   "Seconds after which a host is given up; what runs there may go on")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30));
  command->add_option("--fan-out", options->fan_out, "Hosts at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  command->callback([options, command, &action, &program] {
    options->words = program;
    action = [options, extras = command->remaining()] { return exec(*options, extras); };
  });
}

}  // namespace muster::cli
