#include "cli/job_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "base/environment.hpp"
#include "cli/python_program.hpp"
#include "engines/kind.hpp"
#include "sys/path_search.hpp"
#include "trainflags/duration_option.hpp"

namespace muster::cli {
namespace {

// What ranks are meant to hear of without being told.
constexpr std::array<std::string_view, 7> kForwarded = {"NCCL_", "TORCH_", "GLOO_", "UCX_",
                                                        "FI_",   "CCL_",   "OMP_"};

std::vector<std::string> forwarded_by_default() {
  std::vector<std::string> names;
  for (const auto& [name, value] : own_environment()) {
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
                            .what = fmt::format("-x: '{}' is not a variable name", name),
                            .hint = "use -x NAME, or -x NAME=value"});
  }
  if (equals != std::string::npos) {
    (void)::setenv(name.c_str(), given.c_str() + equals + 1, 1);  // NOLINT(concurrency-mt-unsafe)
  } else if (std::getenv(name.c_str()) == nullptr) {              // NOLINT(concurrency-mt-unsafe)
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = fmt::format("-x {0}: the variable {0} is not set on this machine", name),
              .hint = fmt::format("to set the variable: -x {}=value; to leave a host out, as with "
                                  "srun's -x: --exclude {}",
                                  name, given)});
  }
  return name;
}

constexpr const char* kRanks = "Ranks";
constexpr const char* kProgram = "Program and environment";
constexpr int kMostRanks = 1'000'000;

// 1 to kMostRanks.
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

void add_engine_options(CLI::App& command, layout::Job& job) {
  command
      .add_option("--engine", job.engine,
                  "Program that starts the ranks; default: muster chooses one; one of")
      ->check(CLI::IsMember(engine_words()))
      ->group(kEngineGroup);
  command
      .add_option("--launcher", job.launcher,
                  "Path of mpirun on this machine; default: the mpirun of the MPI that the program "
                  "is linked to, else from PATH")
      ->type_name("PATH")
      ->group(kEngineGroup);
  command
      .add_option("--engine-arg", job.engine_args,
                  "Extra argument for the engine (the mpirun, srun or torchrun that starts the "
                  "ranks); may be repeated")
      ->take_all()
      ->expected(1)
      ->group(kEngineGroup);
  command
      .add_option("--master-addr", job.master_address,
                  "Address at which the ranks find each other; default: the first host's")
      ->type_name("ADDRESS")
      ->group(kEngineGroup);
  command
      .add_option("--master-port", job.master_port,
                  "Port at which the ranks find each other; default: a free one")
      ->check(CLI::Range(1, 65535))
      ->group(kEngineGroup);
  command
      .add_option(
          "--max-restarts", job.max_restarts,
          "Restart the job up to N times if a rank fails, a host is lost or the job "
          "stalls; a restarted program must load its last checkpoint itself (muster train does)")
      ->check(CLI::Range(0, kMostRanks))
      ->group(kBreaksGroup);
  command
      .add_option("--min-nodes", job.min_nodes,
                  "If a host is lost and no spare is left, restart on the remaining hosts if there "
                  "are at least N; default: the restart needs all hosts")
      ->check(CLI::Range(1, kMostRanks))
      ->group(kBreaksGroup);
  command
      .add_option("--bind-to", job.bind_to,
                  "Pin each rank to CPUs: core, socket or another value of the engine's own flag; "
                  "default: no pinning")
      ->type_name("WHAT")
      ->group(kRanks);
  command
      .add_option("--map-by", job.map_by,
                  "Order in which ranks are placed on hosts and CPUs; muster passes WHAT to the "
                  "engine's own flag")
      ->type_name("WHAT")
      ->group(kRanks);
  command
      .add_option(
          "--threads", job.threads,
          "Threads per rank (OMP_NUM_THREADS); default: the host's CPUs divided by its ranks")
      ->check(CLI::Range(1, kMostRanks))
      ->group(kRanks);
}

void add_program_options(CLI::App& command, JobOptions& options) {
  command
      .add_flag("-m,--module", options.module,
                "Run a Python module instead of a program: -m package.train --epochs 3")
      ->group(kProgram);
  command
      .add_flag("--no-python", options.no_python, "Run a .py file directly instead of with python3")
      ->group(kProgram);
  command
      .add_option("--node-rank", options.node_rank,
                  "This pod's number; only for scripts that already pass this flag in pods")
      ->check(CLI::Range(0, kMostRanks))
      ->group(kRanks);
  command.add_flag("-v,--verbose", options.verbose,
                   "Show what muster decided (hosts, network, engine) and why");
}

// Nothing of it need be here: then it is a script of the hosts'.
ScriptHere look_at(const std::string& name) {
  std::error_code error;
  ScriptHere here{.in_folder = std::filesystem::is_regular_file(name, error),
                  .in_path = name.find('/') == std::string::npos && sys::find_program(name)};
  std::array<char, 2> start{};
  std::ifstream(name).read(start.data(), start.size());
  here.runs_itself = start[0] == '#' && start[1] == '!' && ::access(name.c_str(), X_OK) == 0;
  return here;
}

Result<Program> program_words(const JobOptions& options, const Program& program) {
  if (options.module && options.no_python) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "-m and --no-python contradict each other",
              .hint = "-m runs a Python module, which needs python3: leave out --no-python"});
  }
  if (program.empty() || options.no_python) return program;
  return with_interpreter(program, options.module,
                          options.module ? ScriptHere{} : look_at(program.front()));
}

// Reads the script if it is here, but not the modules that it imports.
std::string mpi_word_of(const Program& program) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  PythonCode code = python_code(program);
  if (code.files.empty() && code.text.empty()) return "";
  for (const std::string& name : code.files) {
    std::error_code error;  // skip pipes: they can be read only once
    if (!std::filesystem::is_regular_file(name, error)) continue;
    std::ifstream file(name, std::ios::binary);
    code.text.resize(kMostBytes);
    file.read(code.text.data(), static_cast<std::streamsize>(kMostBytes));
    code.text.resize(static_cast<std::size_t>(file.gcount()));
    break;
  }
  return mpi_word(code.text, program);
}

}  // namespace

void add_job_options(CLI::App& command, JobOptions& options) {
  add_cluster_options(command, options.cluster);
  layout::Job& job = options.job;
  const auto count = CLI::Range(1, kMostRanks);
  command
      .add_option_function<std::string>(
          "--nproc-per-node,--ppn,--ntasks-per-node",
          [&job](const std::string& text) { read_ranks_per_host(text, job); },
          "Ranks per host: a number, gpu (one per GPU), cpu (one per CPU) or auto (gpu where there "
          "are GPUs, else cpu); default: the host's slots, or 1")
      ->type_name("N")
      ->group(kRanks);
  command
      .add_option("-n,--np,--ntasks", job.ranks,
                  "Ranks in total; muster fills each host before the next")
      ->check(count)
      ->group(kRanks);
  command
      .add_option_function<std::string>(
          "-N,--nnodes,--nodes", [&job](const std::string& text) { read_nodes(text, job); },
          "Use only the first N hosts of the list; MIN:MAX lets the job continue on fewer hosts, "
          "at least MIN")
      ->type_name("N")
      ->group(kRanks);
  command
      .add_flag("--oversubscribe", job.oversubscribe,
                "Allow more ranks on a host than it has slots")
      ->group(kRanks);
  command
      .add_option("-x,--env", options.variables,
                  "Environment variable to pass to the ranks: NAME or NAME=value; may be repeated. "
                  "NCCL_*, TORCH_*, GLOO_*, UCX_*, FI_*, CCL_* and OMP_* are always passed")
      ->take_all()
      ->expected(1)
      ->type_name("NAME")
      ->group(kProgram);
  command
      .add_option("--activate", job.activate,
                  "Shell commands that set up the environment on each host, such as 'source "
                  "~/venv/bin/activate' (for conda and oneAPI see docs/run.md)")
      ->type_name("LINES")
      ->group(kProgram);
  auto* sync = command
                   .add_flag_callback(
                       "--sync", [&options] { options.sync = true; },
                       "Before the start, copy the current directory to all hosts, except files "
                       "that .gitignore or .musterignore excludes")
                   ->group(kProgram);
  command
      .add_flag_callback(
          "--no-sync", [&options] { options.sync = false; },
          "Do not copy the directory, even if muster.yaml says 'sync: true'")
      ->excludes(sync)
      ->group(kProgram);
  add_program_options(command, options);
  add_engine_options(command, job);
  trainflags::takes_duration(
      command.add_option("--answer-within", options.answer_within_s,
                         "Give up on a host that has not answered within this time"),
      1, 3600)
      ->capture_default_str()
      ->group("Hosts");
}

Result<layout::Job> read_job(const JobOptions& options, const Program& program) {
  layout::Job job = options.job;
  MUSTER_TRY(job.program, program_words(options, program));
  job.mpi_word = mpi_word_of(job.program);
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
  const auto own = own_environment();
  for (const std::string& name : job.env) {
    if (const auto found = own.find(name); found != own.end()) job.env_values.insert(*found);
  }
  return job;
}

}  // namespace muster::cli
