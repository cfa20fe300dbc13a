#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "cli/command.hpp"
#include "cli/config_file.hpp"
#include "cli/slurm_job.hpp"
#include "launch/job_state.hpp"
#include "remote/diagnose.hpp"
#include "run/builds.hpp"
#include "sys/file.hpp"
#include "sys/path_search.hpp"
#include "sys/print.hpp"
#include "sys/process.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

constexpr std::chrono::seconds kWatchJobFor{5};
// Time in which a script with a missing command fails.
constexpr std::chrono::seconds kFailsWithin{2};
constexpr std::chrono::seconds kSlurmAnswersWithin{10};
constexpr std::chrono::milliseconds kLookAtJobEvery{200};
constexpr std::size_t kMarkWithin = 100;  // the mark is within the first bytes of a script
constexpr std::size_t kMaxScript = std::size_t{1} << 20;

// A name for the job, from the program or the Python script. Contains only characters that have no
// special meaning for shells and Slurm.
std::string job_name(const Program& program) {
  std::string name = std::filesystem::path(program.front()).filename();
  const bool script = name.starts_with("python") && program.size() > 1 && program[1][0] != '-';
  if (script) name = std::filesystem::path(program[1]).stem();
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '.' && c != '-') c = '_';
  }
  return name.empty() || name.front() == '.' || name.front() == '-' ? "job" + name : name;
}

// Does not overwrite a file that muster did not write.
Result<void> write_script(const std::string& path, const std::string& text) {
  if (sys::exists(path)) {
    MUSTER_TRY(const std::string old, sys::read_file(path, kMaxScript));
    if (old.substr(0, kMarkWithin).find(launch::kScriptMark) == std::string::npos) {
      return unexpected(
          Error{.code = ErrorCode::kUsage,
                .what = "this file already exists, and muster submit did not write it",
                .where = {.file = path},
                .hint = "choose another file with -o FILE"});
    }
  }
  return sys::write_file(path, text, 0755);
}

// Returns the number of the job; sbatch prints "17" or "17;cluster". The values of -x are passed
// only in the environment of sbatch, so that they cannot influence which sbatch is found.
Result<std::string> submit_script(const std::string& path, const launch::Words& variables) {
  const std::string sbatch = sys::find_program("sbatch").value_or("sbatch");
  MUSTER_TRY(const sys::Ended ended,
             sys::run({.argv = {sbatch, "--parsable", path}, .env = variables}));
  if (!ended.ok()) {
    return unexpected(
        Error{.what = fmt::format("sbatch ended with {}: {}", sys::to_text(ended),
                                  remote::first_words(ended.err)),
              .where = {.file = path},
              .hint = "muster has written the script; correct it, then run: sbatch " + path});
  }
  return printable(ended.out.substr(0, ended.out.find_first_of(";\n")));
}

// Watches the job for a few seconds until Slurm has decided about it. No longer, because a job may
// be queued for days. Fails if the job cannot start, or if its first host could not run its
// command.
Result<void> see_it_start(const std::string& job, const std::string& muster,
                          const std::string& output) {
  auto until = std::chrono::steady_clock::now() + kWatchJobFor;
  bool runs = false;
  while (std::chrono::steady_clock::now() < until) {
    const auto shown = sys::run(
        {.argv = {"scontrol", "show", "job", "--oneliner", job}, .deadline = kSlurmAnswersWithin});
    if (!shown || !shown->ok()) return {};  // the state is unknown
    const launch::JobState state = launch::parse_job_state(shown->out);
    const launch::Prospect prospect = launch::prospect(state);
    if (prospect == launch::Prospect::kGood) return {};
    if (prospect == launch::Prospect::kNever) {
      return unexpected(Error{
          .what = fmt::format("job {} is in the queue, but Slurm will not start it: {}", job,
                              printable(state.reason)),
          .hint = fmt::format("to remove it: scancel {}; to see what Slurm says: scontrol show job "
                              "{}",
                              job, job)});
    }
    if (prospect == launch::Prospect::kBroken) {
      return unexpected(Error{
          .what = fmt::format("job {} ended at once: its first host, {}, could not run its command "
                              "(exit code {})",
                              job, printable(state.host), state.exit_code),
          .hint = fmt::format("{} must be on that host too: put muster into a directory that all "
                              "hosts share, from a package if they have different architectures; "
                              "the job's own message is in {}",
                              muster, output)});
    }
    if (!std::exchange(runs, runs || state.state == "RUNNING") && runs) {
      until = std::chrono::steady_clock::now() + kFailsWithin;
    }
    std::this_thread::sleep_for(kLookAtJobEvery);
  }
  return {};
}

Result<int> submit(const RunOptions& options, const launch::Words& words, const Program& program) {
  if (program.empty()) return unexpected(no_program("muster submit -N 2 train.py"));
  const std::string name = job_name(program);
  launch::Batch batch{.name = name, .output = fmt::format("{}-%j.out", name)};
  MUSTER_TRY(const layout::Job job, read_job(options.job, program));
  MUSTER_TRY(batch.flags, slurm_flags(options, program));
  MUSTER_TRY(batch.muster, own_binary());
  batch.other_musters = run::installed_build(std::filesystem::path(batch.muster).parent_path(), "");
  batch.arguments = run_arguments(words, program);
  const std::string text = to_script(batch);
  if (options.dry_run) {
    sys::write_out(text);
    return 0;
  }
  const std::string path = options.script.empty() ? name + ".sbatch" : options.script;
  MUSTER_CHECK(write_script(path, text));
  MUSTER_TRY(const std::string number, submit_script(path, given_variables(job)));
  sys::print_out("{}\n", number);
  MUSTER_CHECK(see_it_start(number, batch.muster, fmt::format("{}-{}.out", name, number)));
  sys::print_err(
      "muster: job {} is submitted; script {}, output {}-{}.out\n  to see its state: squeue -j {}; "
      "to end it: scancel {}\n",
      number, path, name, number, number, number);
  return 0;
}

}  // namespace

void add_submit(CLI::App& app, Action& action, const std::vector<std::string>& words,
                const Program& program) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("submit", "Submit a program to Slurm as a batch job");
  command->formatter(help_formatter("PROGRAM [ARGUMENTS]"));
  command->footer(
      "muster writes a batch script that calls muster run with your flags, submits the script and "
      "prints the job's number.\n\n"
      "Examples:\n"
      "  muster submit -N 2 --nproc-per-node 4 train.py --epochs 3\n"
      "  muster submit -N 2 --slurm-arg=--partition=gpu --dry-run train.py");
  add_submit_options(*command, *options);
  command->callback([options, command, &action, &words, &program] {
    action = [options, command, &words, &program]() -> Result<int> {
      MUSTER_CHECK(take_config(*command, options->job.cluster));
      return submit(*options, {words.begin() + 1, words.end()}, program);
    };
  });
}

}  // namespace muster::cli
