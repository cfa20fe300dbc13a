#include "cli/job_options.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace muster::cli {
namespace {

// What ranks are meant to hear of without being told.
constexpr std::array<std::string_view, 7> kForwarded = {"NCCL_", "TORCH_", "GLOO_", "UCX_",
                                                        "FI_",   "CCL_",   "OMP_"};

std::vector<std::string> forwarded_by_default() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool wanted =
        std::any_of(kForwarded.begin(), kForwarded.end(),
                    [&](std::string_view prefix) { return name.starts_with(prefix); });
    if (wanted) names.emplace_back(name);
  }
  return names;
}

Result<std::string> export_variable(const std::string& given) {
  const std::size_t equals = given.find('=');
  std::string name = given.substr(0, equals);
  const bool plain =
      !name.empty() &&
      name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
          std::string::npos;
  if (!plain) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("-x: '{}' is no variable's name", name),
                            .hint = "-x NAME, or -x NAME=value"});
  }
  if (equals != std::string::npos) {
    (void)::setenv(name.c_str(), given.c_str() + equals + 1, 1);  // NOLINT(concurrency-mt-unsafe)
  } else if (std::getenv(name.c_str()) == nullptr) {              // NOLINT(concurrency-mt-unsafe)
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("-x: {} is not set here", name),
                            .hint = fmt::format("-x {}=value sets it", name)});
  }
  return name;
}

constexpr const char* kGroup = "Job";
constexpr int kMostRanks = 1'000'000;

void add_engine_options(CLI::App& command, layout::Job& job) {
  command.add_option("--engine", job.engine, "What starts the ranks; default: found out")
      ->check(CLI::IsMember({"openmpi", "slurm"}))
      ->group(kGroup);
  command
      .add_option(
          "--launcher", job.launcher,
          "The engine's mpirun here; default: that of the program's MPI, else the one in PATH")
      ->group(kGroup);
  command
      .add_option("--engine-arg", job.engine_args, "A word more for the engine; may be repeated")
      ->take_all()
      ->expected(1)
      ->group(kGroup);
  command
      .add_option("--master-addr", job.master_address,
                  "Default: the first host's, in the job's network")
      ->group(kGroup);
  command
      .add_option("--master-port", job.master_port,
                  "Default: a free one outside ip_local_port_range")
      ->check(CLI::Range(1, 65535))
      ->group(kGroup);
  command.add_option("--bind-to", job.bind_to, "As the engine has it; default: none")
      ->group(kGroup);
  command.add_option("--map-by", job.map_by, "As the engine has it")->group(kGroup);
  command
      .add_option("--threads", job.threads,
                  "OMP_NUM_THREADS; default: a host's CPUs over its ranks")
      ->check(CLI::Range(1, kMostRanks))
      ->group(kGroup);
}

}  // namespace

void add_job_options(CLI::App& command, JobOptions& options) {
  add_cluster_options(command, options.cluster);
  layout::Job& job = options.job;
  const auto count = CLI::Range(1, kMostRanks);
  command
      .add_option("--nproc-per-node,--ppn,--ntasks-per-node", job.ranks_per_host,
                  "Ranks on each host; default: its slots, else 1")
      ->check(count)
      ->group(kGroup);
  command
      .add_option("-n,--np,--ntasks", job.ranks, "Ranks in all, filling one host after the other")
      ->check(count)
      ->group(kGroup);
  command
      .add_option("-N,--nnodes,--nodes", job.nodes, "Hosts, the first of the list (as srun's -N)")
      ->check(count)
      ->group(kGroup);
  command
      .add_option("-x,--env", options.variables,
                  "Hand this variable to the ranks: NAME or NAME=value. NCCL_*, TORCH_*, GLOO_*, "
                  "UCX_*, FI_*, CCL_* and OMP_* are handed on anyway")
      ->take_all()
      ->expected(1)
      ->group(kGroup);
  command
      .add_option("--activate", job.activate,
                  "Shell lines that make the environment ready, run once on each host: "
                  "'source ~/venv/bin/activate'")
      ->group(kGroup);
  add_engine_options(command, job);
  command
      .add_option("--answer-within", options.answer_within_s,
                  "Seconds after which a host that says nothing is given up")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600))
      ->group(kGroup);
}

Result<layout::Job> read_job(const JobOptions& options, const Program& program) {
  layout::Job job = options.job;
  job.program = program;
  std::error_code error;
  job.folder = std::filesystem::current_path(error);
  if (!job.launcher.empty()) job.launcher = std::filesystem::absolute(job.launcher, error);
  job.env = forwarded_by_default();
  for (const std::string& given : options.variables) {
    MUSTER_TRY(std::string name, export_variable(given));
    job.env.push_back(std::move(name));
  }
  std::sort(job.env.begin(), job.env.end());
  job.env.erase(std::unique(job.env.begin(), job.env.end()), job.env.end());
  return job;
}

}  // namespace muster::cli
