#include "cli/slurm_job.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "sys/quote.hpp"

namespace muster::cli {
namespace {

const std::vector<launch::Flag> kForSlurm = {
    {.names = {"--slurm-arg"}, .takes_value = true},
    {.names = {"-o", "--script"}, .takes_value = true},
    {.names = {"--dry-run"}},
};

std::string shown(const RunOptions& options, const launch::Words& words) {
  std::string line;
  for (const std::string& given : options.job.variables) {
    const std::size_t equals = given.find('=');
    if (equals == std::string::npos) continue;
    line += given.substr(0, equals + 1) + sys::quote(given.substr(equals + 1)) + " ";
  }
  return line + sys::quote(words);
}

// Only when it fails.
Error become(const launch::Words& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  (void)::execvp(argv[0], argv.data());
  Error error = system_error("cannot run salloc");
  error.code = ErrorCode::kEngineMissing;
  error.hint =
      "Slurm's own commands must be on this machine; inside of an allocation, or with "
      "another --engine, they need not";
  return error;
}

}  // namespace

Result<launch::Words> slurm_flags(const RunOptions& options, const Program& program) {
  MUSTER_TRY(const layout::Job job, read_job(options.job, program));
  std::vector<hosts::Host> named;
  const ClusterOptions& cluster = options.job.cluster;
  if (!cluster.expression.empty() || !cluster.hostfile.empty()) {
    MUSTER_TRY(const hosts::Cluster read, read_cluster(cluster));
    named = read.hosts;
  }
  return launch::allocation_flags(job, named, options.slurm_args);
}

Result<launch::Words> run_words(const launch::Words& words, const Program& program) {
  std::error_code error;
  launch::Words line = {std::filesystem::read_symlink("/proc/self/exe", error), "run"};
  if (error) return unexpected(Error{.what = "cannot find muster's own binary"});
  const launch::Words kept = launch::without_values(launch::without_flags(words, kForSlurm));
  line.insert(line.end(), kept.begin(), kept.end());
  line.emplace_back("--");
  line.insert(line.end(), program.begin(), program.end());
  return line;
}

Result<int> allocate_and_run(const RunOptions& options, const launch::Words& words,
                             const Program& program) {
  if (options.detach) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "--detach would give the allocation back at once",
                            .hint = "muster submit runs it as a batch job"});
  }
  MUSTER_TRY(const launch::Words flags, slurm_flags(options, program));
  MUSTER_TRY(const launch::Words run, run_words(words, program));
  launch::Words line = {"salloc"};
  if (options.quiet) line.emplace_back("--quiet");
  line.insert(line.end(), flags.begin(), flags.end());
  line.emplace_back("--");
  line.insert(line.end(), run.begin(), run.end());
  if (!options.dry_run) return unexpected(become(line));
  fmt::print("{}\n", shown(options, line));
  return 0;
}

}  // namespace muster::cli
