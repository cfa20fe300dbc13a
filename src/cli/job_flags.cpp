#include <charconv>

#include <fmt/format.h>

#include "cli/job_options.hpp"
#include "engines/kind.hpp"

namespace muster::cli {
namespace {

constexpr std::string_view kRanks = "Ranks";
constexpr std::string_view kProgram = "Program and environment";
constexpr int kMostRanks = 1'000'000;

// Parses a number from 1 to kMostRanks.
std::optional<int> count_in(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  const bool good = parsed.ec == std::errc() && parsed.ptr == end;
  return good && number >= 1 && number <= kMostRanks ? std::optional<int>(number) : std::nullopt;
}

void read_nodes(const std::string& text, layout::Job& job) {
  const std::size_t colon = text.find(':');
  const auto least = count_in(text.substr(0, colon));
  const auto most = colon == std::string::npos ? least : count_in(text.substr(colon + 1));
  if (!least || !most || *least > *most) {
    throw CLI::ValidationError(
        fmt::format("--nnodes: '{}' is neither a number of hosts nor torchrun's MIN:MAX", text));
  }
  job.nodes = *most;
  job.elastic = *least < *most;
  if (job.elastic) job.min_nodes = *least;
}

void read_ranks_per_host(const std::string& text, layout::Job& job) {
  job.ranks_by = text == "auto" || text == "cpu" || text == "gpu" ? text : "";
  const auto number = count_in(text);
  if (!number && job.ranks_by.empty()) {
    throw CLI::ValidationError(
        fmt::format("--nproc-per-node: '{}' is neither a number nor auto, cpu or gpu", text));
  }
  job.ranks_per_host = number.value_or(0);
}

std::vector<std::string> engine_words() {
  std::vector<std::string> words;
  for (const engines::Kind& kind : engines::all()) words.emplace_back(kind.word);
  return words;
}

CLI::Option* count(const Adder& flag, int& target, int least = 1) {
  return flag.value(target)->check(CLI::Range(least, kMostRanks));
}

using JobRow = Row<JobOptions>;

constexpr JobRow kJobFlags[] = {
    {{.names = "--nproc-per-node,--ppn,--ntasks-per-node",
      .value = "N",
      .group = kRanks,
      .foreign = "--npernode --perhost --tasks-per-node --num-gpus",
      .help =
          "Ranks per host: a number, gpu (one per GPU), cpu (one per CPU) or auto (gpu where there "
          "are GPUs, else cpu); default: the host's slots, or 1"},
     [](const Adder& flag, JobOptions& to) {
       return flag.text([&](const std::string& text) { read_ranks_per_host(text, to.job); });
     }},
    {{.names = "-n,--np,--ntasks",
      .value = "N",
      .group = kRanks,
      .help = "Ranks in total; muster fills each host before the next"},
     [](const Adder& flag, JobOptions& to) { return count(flag, to.job.ranks); }},
    {{.names = "-N,--nnodes,--nodes",
      .value = "N",
      .group = kRanks,
      .foreign = "--num-nodes",
      .help =
          "Use only the first N hosts of the list; MIN:MAX lets the job continue on fewer hosts, "
          "at least MIN"},
     [](const Adder& flag, JobOptions& to) {
       return flag.text([&](const std::string& text) { read_nodes(text, to.job); });
     }},
    {{.names = "--oversubscribe",
      .group = kRanks,
      .help = "Allow more ranks on a host than it has slots"},
     [](const Adder& flag, JobOptions& to) { return flag.on(to.job.oversubscribe); }},
    {{.names = "-x,--env",
      .value = "NAME",
      .group = kProgram,
      .secret = true,
      .help = "Environment variable to pass to the ranks: NAME or NAME=value; may be repeated. "
              "Some are always passed, such as NCCL_DEBUG and WANDB_PROJECT (see docs/config.md)"},
     [](const Adder& flag, JobOptions& to) { return flag.list(to.variables); }},
    {{.names = "--activate",
      .value = "LINES",
      .group = kProgram,
      .help = "Shell commands that set up the environment on each host, such as 'source "
              "~/venv/bin/activate' (for conda and oneAPI see docs/run.md)"},
     [](const Adder& flag, JobOptions& to) { return flag.value(to.job.activate); }},
    {{.names = "--sync",
      .group = kProgram,
      .help = "Before the start, copy the current directory to all hosts, except files "
              "that .gitignore or .musterignore excludes"},
     [](const Adder& flag, JobOptions& to) {
       return flag.call([&] { to.sync = to.sync.value_or(true); });  // --no-sync wins
     }},
    {{.names = "--no-sync",
      .group = kProgram,
      .help = "Do not copy the directory, even if muster.yaml says 'sync: true'"},
     [](const Adder& flag, JobOptions& to) {
       return flag.call([&] { to.sync = false; })->excludes("--sync");
     }},
    {{.names = "-m,--module",
      .group = kProgram,
      .help = "Run a Python module instead of a program: -m package.train --epochs 3"},
     [](const Adder& flag, JobOptions& to) { return flag.on(to.module); }},
    {{.names = "--no-python",
      .group = kProgram,
      .help = "Run a .py file directly instead of with python3"},
     [](const Adder& flag, JobOptions& to) { return flag.on(to.no_python); }},
    {{.names = "--node-rank",
      .value = "N",
      .group = kRanks,
      .help = "This pod's number; only for scripts that already pass this flag in pods"},
     [](const Adder& flag, JobOptions& to) {
       return flag.value(to.node_rank)->check(CLI::Range(0, kMostRanks));
     }},
    {{.names = "-v,--verbose",
      .help =
          "Show what muster decided (hosts, network, engine) and why, and what the engine prints"},
     [](const Adder& flag, JobOptions& to) { return flag.on(to.verbose); }},
    {{.names = "--engine",
      .value = "ENGINE",
      .group = kEngineGroup,
      .help = "Program that starts the ranks; default: muster chooses one; one of"},
     [](const Adder& flag, JobOptions& to) {
       return flag.value(to.job.engine)->check(CLI::IsMember(engine_words()));
     }},
    {{.names = "--launcher",
      .value = "PATH",
      .group = kEngineGroup,
      .help = "Path of mpirun on this machine; default: the mpirun of the MPI that the program "
              "is linked to, else from PATH"},
     [](const Adder& flag, JobOptions& to) { return flag.value(to.job.launcher); }},
    {{.names = "--engine-arg",
      .value = "ARG",
      .group = kEngineGroup,
      .help = "Extra argument for the engine (the mpirun, srun or torchrun that starts the "
              "ranks); may be repeated"},
     [](const Adder& flag, JobOptions& to) { return flag.list(to.job.engine_args); }},
    {{.names = "--master-addr",
      .value = "ADDRESS",
      .group = kEngineGroup,
      .help = "Address at which the ranks find each other; default: the first host's"},
     [](const Adder& flag, JobOptions& to) { return flag.value(to.job.master_address); }},
    {{.names = "--master-port",
      .value = "N",
      .group = kEngineGroup,
      .help = "Port at which the ranks find each other; default: a free one"},
     [](const Adder& flag, JobOptions& to) {
       return flag.value(to.job.master_port)->check(CLI::Range(1, 65535));
     }},
    {{.names = "--confine-store",
      .group = kEngineGroup,
      .help = "Let PyTorch's store, where the ranks find each other, listen only at the master "
              "address instead of on all interfaces; for Python programs, not with torchrun"},
     [](const Adder& flag, JobOptions& to) { return flag.on(to.job.confine_store); }},
    {{.names = "--max-restarts",
      .value = "N",
      .group = kBreaksGroup,
      .beside_again = true,
      .help =
          "Restart the job up to N times if a rank fails, a host is lost or the job "
          "stalls; a restarted program must load its last checkpoint itself (muster train does)"},
     [](const Adder& flag, JobOptions& to) { return count(flag, to.job.max_restarts, 0); }},
    {{.names = "--min-nodes",
      .value = "N",
      .group = kBreaksGroup,
      .help = "If a host is lost and no spare is left, restart on the remaining hosts if there "
              "are at least N; default: the restart needs all hosts"},
     [](const Adder& flag, JobOptions& to) { return count(flag, to.job.min_nodes); }},
    {{.names = "--bind-to",
      .value = "WHAT",
      .group = kRanks,
      .foreign = "--cpu-bind",
      .help =
          "Pin each rank to CPUs: gpu (the CPUs of its GPU's NUMA node, under every engine), core, "
          "socket or another value of the engine's own flag; default: no pinning"},
     [](const Adder& flag, JobOptions& to) { return flag.value(to.job.bind_to); }},
    {{.names = "--map-by",
      .value = "WHAT",
      .group = kRanks,
      .help = "Order in which ranks are placed on hosts and CPUs; muster passes WHAT to the "
              "engine's own flag"},
     [](const Adder& flag, JobOptions& to) { return flag.value(to.job.map_by); }},
    {{.names = "--threads",
      .value = "N",
      .group = kRanks,
      .foreign = "--cpus-per-task",
      .help = "Threads per rank (OMP_NUM_THREADS); default: the host's CPUs divided by its ranks"},
     [](const Adder& flag, JobOptions& to) { return count(flag, to.job.threads); }},
    {{.names = "--answer-within",
      .value = "SECONDS",
      .group = "Hosts",
      .help = "Give up on a host that has not answered within this time"},
     [](const Adder& flag, JobOptions& to) {
       return flag.duration(to.answer_within_s, 1, 3600)->capture_default_str();
     }},
};

}  // namespace

std::span<const JobRow> job_flags() {
  return kJobFlags;
}

void add_job_options(CLI::App& command, JobOptions& options) {
  add_cluster_options(command, options.cluster);
  add_flags(command, job_flags(), options);
}

}  // namespace muster::cli
