#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/cluster_options.hpp"
#include "cli/command.hpp"
#include "cli/this_machine.hpp"
#include "cli/usage.hpp"
#include "remote/grouped.hpp"
#include "remote/labels.hpp"
#include "remote/local.hpp"
#include "remote/outcome.hpp"
#include "remote/ssh.hpp"
#include "remote/time_limit.hpp"
#include "sys/file.hpp"
#include "sys/print.hpp"
#include "sys/process.hpp"
#include "sys/random.hpp"
#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

constexpr std::chrono::seconds kConnectWithin{30};
constexpr std::size_t kIdBytes = 8;

struct ExecOptions {
  ClusterOptions cluster;
  std::vector<std::string> words;
  bool label = false;
  bool json = false;
  bool interactive = false;
  std::chrono::seconds::rep timeout_s = 86400;
  bool limited = false;  // the user gave the time limit
  std::size_t fan_out = 64;
};

// Prints the text. Ends this process if the reader of its output has gone, because the commands may
// run for hours.
void show(sys::Stream stream, const std::string& text) {
  if (stream == sys::Stream::kErr) return sys::write_err(text);
  sys::write_out(text);
  if (sys::output_error() != EPIPE) return;
  (void)std::signal(SIGPIPE, SIG_DFL);
  (void)std::raise(SIGPIPE);
}

// Shows the output of one host line by line. The host's task owns this object, which shows an
// unfinished last line when it is destroyed.
class LiveOutput {
 public:
  LiveOutput(const std::string& host, std::string mark)
      : out_(host), err_(host), mark_(std::move(mark)) {}
  LiveOutput(const LiveOutput&) = delete;
  LiveOutput& operator=(const LiveOutput&) = delete;
  ~LiveOutput() {
    err_.drop_end(mark_);
    show(sys::Stream::kOut, out_.rest());
    show(sys::Stream::kErr, err_.rest());
  }

  void take(sys::Stream stream, std::string_view chunk) {
    show(stream, (stream == sys::Stream::kOut ? out_ : err_).take(chunk));
  }

 private:
  remote::Labels out_;
  remote::Labels err_;
  std::string mark_;  // a mark at the end of stderr that is not shown
};

sys::OnOutput live_output(const std::string& host, const std::string& mark) {
  return [output = std::make_shared<LiveOutput>(host, mark)](
             sys::Stream stream, std::string_view chunk) { output->take(stream, chunk); };
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

// Returns the command line of the shell. Opens a session to the host first, so that muster can
// explain why the host cannot be reached.
Result<std::vector<std::string>> words_for_shell(const SshHosts& hosts, const std::string& line) {
  const std::string& host = hosts.names.front();
  if (host == hosts.ssh.this_machine) {
    std::error_code ignored;
    std::filesystem::current_path(sys::home_folder(), ignored);  // as ssh does
    if (!line.empty()) return remote::shell_words(line);
    return std::vector<std::string>{remote::shell_words("").front(), "-l"};
  }
  const remote::Task trial{.host = host, .command = "true"};
  const auto outcomes = remote::Ssh(hosts.ssh).run({&trial, 1}, kConnectWithin);
  if (!outcomes.front().ended) return unexpected(outcomes.front().ended.error());
  const bool on_terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  return remote::interactive_words(hosts.ssh, host, line, on_terminal);
}

// Replaces this process with a shell on this machine or with ssh. Returns only if that fails.
Result<int> exec_interactively(const ExecOptions& options) {
  MUSTER_TRY(SshHosts hosts, find_ssh_hosts(options.cluster));
  if (hosts.names.size() != 1) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what =
            fmt::format("-i opens a shell on one host, but you named {} hosts", hosts.names.size()),
        .hint = fmt::format("for example: muster exec -i -H {}", hosts.names.front())});
  }
  const std::string line = options.words.empty() ? "" : remote::command_line(options.words);
  MUSTER_TRY(const auto words, words_for_shell(hosts, line));
  (void)std::signal(SIGPIPE, SIG_DFL);
  return unexpected(sys::become(words));
}

Result<int> exec(const ExecOptions& options) {
  if (options.interactive) return exec_interactively(options);
  if (options.words.empty()) return unexpected(no_program("muster exec -H n[1-3] uname -r"));
  MUSTER_TRY(SshHosts hosts, find_ssh_hosts(options.cluster));
  hosts.ssh.fan_out = options.fan_out;
  std::string line = remote::command_line(options.words);
  std::chrono::seconds deadline(options.timeout_s);
  const std::string id = sys::random_hex(kIdBytes);
  if (options.limited) {
    line = remote::limited_line(line, deadline, id);
    deadline += remote::kBeyondLimit;
  }
  std::vector<remote::Task> tasks;
  for (const std::string& host : hosts.names) {
    tasks.push_back({.host = host, .command = line});
    if (options.label) tasks.back().on_output = live_output(host, remote::own_code_mark(id));
  }
  auto outcomes = remote::Ssh(hosts.ssh).run(tasks, deadline);
  tasks.clear();  // destroying the tasks shows unfinished last lines
  if (options.limited) {
    for (remote::Outcome& one : outcomes) one = remote::read_limited(std::move(one), id);
  }
  if (options.json) {
    for (const remote::Outcome& outcome : outcomes) sys::write_out(to_json(outcome) + "\n");
  } else if (!options.label) {
    print_grouped(outcomes);
  }
  sys::write_err(remote::failures_text(outcomes));
  const remote::Conclusion conclusion = remote::conclusion(outcomes);
  return conclusion.failure ? exit_code(*conclusion.failure) : conclusion.code;
}

constexpr auto kAbout = "Run a shell command on all hosts; print equal output only once";

constexpr auto kMoreOfExec =
    "The command begins at the first word that belongs to no flag. If it is a single (quoted) "
    "word, the shell on each host expands it, including wildcards and pipes. If it is several "
    "words, they are a program and its arguments, which reach the host unchanged. The command's "
    "stdin is empty, unless you pass -i. If --timeout passes, muster ends the command on the host, "
    "with everything that it has started.\n\n"
    "Exit code: 0 if the command succeeded everywhere, 4 if a host was not reached, 124 if "
    "--timeout passed, 125 if a host's output was too long to keep. Otherwise, it is the highest "
    "exit code of all hosts (128+N for signal N).\n\n"
    "Examples:\n"
    "  muster exec -H node1,node2 nvidia-smi -L\n"
    "  muster exec -H 'node[01-16]' 'ls *.py | wc -l'\n"
    "  muster exec -i -H node1                         # a shell there";

}  // namespace

Result<Line> read_exec_line(const Words& words, const Flags& own) {
  return split_program(words, own);
}

void add_exec(CLI::App& app, Action& action, const Program& program) {
  auto options = std::make_shared<ExecOptions>();
  CLI::App* command = app.add_subcommand("exec", kAbout);
  command->formatter(help_formatter("COMMAND [ARGUMENTS]"));
  command->footer(kMoreOfExec);
  command->allow_extras();  // unknown flags get muster's own error, which suggests the nearest one
  add_cluster_options(*command, options->cluster);
  auto* label = command->add_flag("-l,--label", options->label,
                                  "Print each line as it arrives, as 'host: line'");
  auto* json = command->add_flag("--json", options->json, "Print one JSON object per host");
  json->excludes(label);
  auto* timeout = trainflags::takes_duration(
                      command->add_option(
                          "--timeout", options->timeout_s,
                          "End the command on a host after this time, with what it has started"),
                      1)
                      ->capture_default_str();
  command
      ->add_flag("-i,--interactive", options->interactive,
                 "Open a shell on one host, or run the command there with your terminal and stdin")
      ->excludes(label)
      ->excludes(json)
      ->excludes(timeout);
  command->add_option("--fan-out", options->fan_out, "Number of hosts to contact at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  command->callback([options, command, timeout, &action, &program] {
    options->words = program;
    options->limited = timeout->count() > 0;
    action = [options, command, extras = command->remaining()]() -> Result<int> {
      if (!extras.empty()) return unexpected(unknown_flag(*command, extras.front()));
      return exec(*options);
    };
  });
}

}  // namespace muster::cli
