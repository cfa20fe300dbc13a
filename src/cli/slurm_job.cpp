#include "cli/slurm_job.hpp"

#include <charconv>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/flag_words.hpp"
#include "sys/file.hpp"
#include "sys/path_search.hpp"
#include "sys/print.hpp"
#include "sys/process.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

std::string shown(const RunOptions& options, const launch::Words& words) {
  std::string line;
  for (const std::string& given : options.job.variables) {
    const std::size_t equals = given.find('=');
    if (equals == std::string::npos) continue;
    line += given.substr(0, equals + 1) + sys::quote(given.substr(equals + 1)) + " ";
  }
  return line + sys::quote(words);
}

// Replaces this process with salloc; returns only if that fails. The values of -x become part of
// the environment only here, so that they cannot influence which salloc is found.
Error become(launch::Words words, const launch::Words& variables) {
  if (const auto found = sys::find_program(words.front())) words.front() = *found;
  for (const std::string& entry : variables) {
    const std::size_t equals = entry.find('=');
    (void)::setenv(entry.substr(0, equals).c_str(),  // NOLINT(concurrency-mt-unsafe)
                   entry.c_str() + equals + 1, 1);
  }
  Error error = sys::become(words);
  error.code = ErrorCode::kEngineMissing;
  error.hint =
      "install Slurm's commands on this machine, start muster inside an allocation, or choose "
      "another --engine";
  return error;
}

// The process that salloc has started; 0 while salloc waits for hosts.
pid_t command_of(pid_t salloc) {
  std::error_code error;
  for (const auto& thread :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", salloc), error)) {
    const auto listed = sys::read_file(thread.path() / "children");
    pid_t pid = 0;
    if (listed) (void)std::from_chars(listed->data(), listed->data() + listed->size(), pid);
    if (pid > 0) return pid;
  }
  return 0;
}

// The signals to handle, without those that nohup or a script's background job ignores. Those must
// not be blocked, because sigwait would report them although they are ignored.
sigset_t watched_signals() {
  sigset_t set;
  (void)::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    struct sigaction current = {};
    (void)::sigaction(signal, nullptr, &current);
    if (signal == SIGCHLD || current.sa_handler != SIG_IGN) (void)::sigaddset(&set, signal);
  }
  return set;
}

// Waits until salloc has ended. Passes signals on to the run, which then ends in an orderly way and
// with its own exit code.
int watch(pid_t salloc, const sigset_t& signals) {
  int got = 0;  // signal that came before the run had begun
  while (true) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) continue;
    if (signal == SIGCHLD) {
      int status = 0;
      if (::waitpid(salloc, &status, WNOHANG) != salloc) continue;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return got != 0 && code <= 1 ? 128 + got : code;
    }
    const pid_t command = command_of(salloc);
    if (command == 0) got = signal;
    (void)::kill(command > 0 ? command : salloc, signal);
  }
}

// Without a terminal, salloc runs in a child and this process handles signals: salloc would respond
// to a signal by releasing the hosts at once and ending with 0. With a terminal that is not needed,
// because salloc puts its command into the foreground and only that gets Ctrl-C.
Result<int> run_salloc(const launch::Words& words, const launch::Words& variables) {
  const bool is_missing = !sys::find_program(words.front());  // then `become` reports it
  if (::isatty(STDIN_FILENO) != 0 || is_missing) return unexpected(become(words, variables));
  // If our parent ignores SIGCHLD, this process inherits that and would not notice salloc's end.
  (void)::signal(SIGCHLD, SIG_DFL);
  const sigset_t signals = watched_signals();
  sigset_t before;
  (void)::sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t salloc = ::fork();
  if (salloc < 0) return unexpected(system_error("cannot start salloc"));
  if (salloc == 0) {
    (void)::setsid();
    // Makes salloc release the hosts if this process is killed.
    (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)::sigprocmask(SIG_SETMASK, &before, nullptr);
    const Error error = become(words, variables);
    sys::print_err("muster: {}\n", to_text(error));
    ::_exit(exit_code(error.code));
  }
  return watch(salloc, signals);
}

}  // namespace

Result<launch::Words> slurm_flags(const RunOptions& options, const Program& program) {
  MUSTER_TRY(const layout::Job job, read_job(options.job, program));
  if (!options.spares.empty()) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "--spares names hosts of an allocation, but muster does not run inside one",
              .hint = "start muster inside an allocation: salloc -N 3 --no-kill muster run -H "
                      "n[1-2] --spares n3"});
  }
  std::vector<hosts::Host> named;
  const ClusterOptions& cluster = options.job.cluster;
  if (!cluster.expression.empty() || !cluster.hostfile.empty()) {
    MUSTER_TRY(const hosts::Cluster read, read_cluster(cluster));
    named = read.hosts;
  }
  launch::Words more = options.slurm_args;
  // Without --no-kill, Slurm takes all hosts away when one of them fails.
  if (job.max_restarts > 0) more.insert(more.begin(), "--no-kill");
  return launch::allocation_flags(job, named, more);
}

Result<std::string> own_binary() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return self.string();
  return unexpected(Error{.what = "cannot find muster's own binary"});
}

launch::Words run_arguments(const launch::Words& words, const Program& program) {
  launch::Words line = {"run"};
  const launch::Words kept = slurm_job_words(words);
  line.insert(line.end(), kept.begin(), kept.end());
  line.emplace_back("--");
  line.insert(line.end(), program.begin(), program.end());
  return line;
}

Result<int> allocate_and_run(const RunOptions& options, const launch::Words& words,
                             const Program& program) {
  if (options.detach) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what =
            "with --detach, muster would return at once and Slurm would take the allocation back",
        .hint = "to run the job in the background, submit it as a batch job: muster submit"});
  }
  MUSTER_TRY(const layout::Job job, read_job(options.job, program));
  MUSTER_TRY(const launch::Words flags, slurm_flags(options, program));
  MUSTER_TRY(const std::string muster, own_binary());
  const launch::Words run = run_arguments(words, program);
  launch::Words line = {"salloc"};
  if (options.quiet) line.emplace_back("--quiet");
  line.insert(line.end(), flags.begin(), flags.end());
  line.insert(line.end(), {"--", muster});
  line.insert(line.end(), run.begin(), run.end());
  if (!options.dry_run) return run_salloc(line, given_variables(job));
  sys::print_out("{}\n", shown(options, line));
  return 0;
}

}  // namespace muster::cli
