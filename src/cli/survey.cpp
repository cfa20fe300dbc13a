#include "cli/survey.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/exit_code.hpp"
#include "cli/project_sync.hpp"
#include "cli/reach.hpp"
#include "cli/saved_states.hpp"
#include "engines/kind.hpp"
#include "facts/gather.hpp"
#include "facts/program.hpp"
#include "layout/python.hpp"
#include "run/reach_test.hpp"
#include "sys/live_line.hpp"
#include "sys/path_search.hpp"

namespace muster::cli {
namespace {

constexpr int kHashWithinMs = 1000;

// Returns all of them, because the MPI that the user wants may not be the first.
std::vector<std::string> mpiruns_in_path() {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  const engines::Words names = engines::mpi_launchers();
  std::vector<std::string> found;
  for (const std::string& folder : sys::path_folders(path == nullptr ? "" : path)) {
    if (!folder.starts_with('/')) continue;
    for (const std::string_view name : names) {
      const std::string program = fmt::format("{}/{}", folder, name);
      if (sys::is_program(program)) found.push_back(program);
    }
  }
  return found;
}

// The launchers of the engine on this machine, as far as they are known before the survey.
std::vector<std::string> launchers(const layout::Job& job) {
  if (!job.launcher.empty()) return {job.launcher};
  if (engines::find(job.engine).is_mpi || (job.engine.empty() && !job.mpi_word.empty())) {
    return mpiruns_in_path();
  }
  // This engine does not use mpirun, so hosts need not examine one.
  if (!job.engine.empty()) return {};
  const auto found = sys::find_program("mpirun");
  return found ? std::vector<std::string>{*found} : std::vector<std::string>{};
}

facts::Request request_for(const layout::Job& job) {
  const layout::PythonCode code = layout::python_code(job.program).value_or(layout::PythonCode{});
  return {.activate = job.activate,
          .launchers = launchers(job),
          .program = job.program.empty() ? "" : job.program.front(),
          .script = code.word,
          .script_is_module = code.is_module,
          .folder = job.folder};
}

std::vector<std::string> names(const hosts::Cluster& cluster) {
  std::vector<std::string> result;
  for (const hosts::Host& host : cluster.hosts) result.push_back(host.name);
  return result;
}

// Keeps the first hosts, as many as the job wants. An elastic job takes as many as there are,
// between min_nodes and nodes.
Result<void> keep_first(hosts::Cluster& cluster, layout::Job& job) {
  const auto named = static_cast<int>(cluster.hosts.size());
  if (job.min_nodes > 0 && named >= job.min_nodes) job.nodes = std::min(job.nodes, named);
  const int nodes = job.min_nodes > named ? job.min_nodes : job.nodes;
  const auto wanted = static_cast<std::size_t>(nodes);
  if (wanted == 0) return {};
  if (wanted > cluster.hosts.size()) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = fmt::format("you asked for {} hosts but named {}", nodes, cluster.hosts.size()),
        .hint = "name more hosts with -H, or ask for fewer with -N"});
  }
  cluster.hosts.resize(wanted);
  return {};
}

// Takes what the platform says about the job. Fails if the user's flags contradict it.
Result<void> take_pod(const hosts::Pod& pod, std::optional<int> node_rank, layout::Job& job) {
  if (!job.ranks_by.empty() && (pod.ranks_per_pod || job.ranks > 0)) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = pod.ranks_per_pod
                    ? fmt::format("--nproc-per-node {} contradicts PET_NPROC_PER_NODE={}",
                                  job.ranks_by, *pod.ranks_per_pod)
                    : fmt::format("--nproc-per-node {} contradicts -n {}", job.ranks_by, job.ranks),
        .hint = "leave one of them out"});
  }
  MUSTER_TRY(const int ranks, ranks_on_each(pod, {.pods = job.nodes,
                                                  .ranks = job.ranks,
                                                  .ranks_per_pod = job.ranks_per_host,
                                                  .rank = node_rank}));
  job.pods = pod.count;
  job.pod = pod.rank;
  job.ranks_per_host = ranks;
  if (ranks == 0 && job.ranks_by.empty()) job.ranks_by = pod.ranks_by;
  job.ranks = 0;
  job.nodes = 0;
  if (job.master_address.empty()) job.master_address = pod.master_address;
  if (job.master_port == 0) job.master_port = pod.master_port;
  const char* restarts = std::getenv("PET_MAX_RESTARTS");  // NOLINT(concurrency-mt-unsafe)
  if (job.max_restarts == 0 && restarts != nullptr) {
    job.max_restarts = std::max(0, std::atoi(restarts));
  }
  return {};
}

Result<void> take_reach(Reach reach, std::optional<int> node_rank, Surveyed& all) {
  all.cluster = std::move(reach.cluster);
  all.transport = std::move(reach.transport);
  all.allocation = std::move(reach.allocation);
  if (!reach.engine.empty()) {
    all.job.engine = reach.engine;
    all.job.engine_why = reach.why;
  }
  if (reach.pod) MUSTER_CHECK(take_pod(*reach.pod, node_rank, all.job));
  return keep_first(all.cluster, all.job);
}

Result<HostErrors> sync_if_wanted(const JobOptions& options, Surveyed& all,
                                  const SurveyFor& purpose) {
  if (!options.sync.value_or(false)) return HostErrors{};
  if (all.job.pods > 0) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "--sync cannot reach the other pods of the job",
                            .hint = "leave --sync out, and put the project into the pods' image or "
                                    "on a volume that they share"});
  }
  all.job.synced = true;
  return sync_project(all.job.folder, all.cluster, *all.transport,
                      {.all_hosts = purpose.attempt == 0, .quiet = purpose.quiet});
}

// Also examines other launchers in PATH that hosts found next to the MPI of their program, because
// these suit the program better than the first one in PATH. Examining a launcher may execute it, so
// a host's report can only select paths that this machine found itself.
void look_at_launchers_of_hosts(Surveyed& all) {
  std::set<std::string> reported;
  for (const facts::Survey& survey : all.surveys) {
    if (!survey.facts) continue;
    const std::optional<facts::Program>& program = survey.facts->program;
    if (!program || !program->libmpi) continue;
    for (const facts::Mpi& mpi : survey.facts->mpi) reported.insert(mpi.launcher);
  }
  std::set<std::string> new_ones;
  for (const std::string& launcher : mpiruns_in_path()) {
    if (reported.contains(launcher)) new_ones.insert(launcher);
  }
  for (const facts::Mpi& known : all.launcher.mpi) new_ones.erase(known.launcher);
  if (new_ones.empty()) return;
  const auto here = facts::gather({.launchers = {new_ones.begin(), new_ones.end()}});
  for (const facts::Mpi& mpi : here.facts.mpi) {
    if (new_ones.contains(mpi.launcher)) all.launcher.mpi.push_back(mpi);
  }
}

void judge(const std::vector<facts::Trial>& trials, Surveyed& all) {
  const bool whole_hosts = has_whole_hosts();
  std::vector<facts::SavedState> saved;
  if (whole_hosts) saved = read_saved_states(names(all.cluster));
  const checks::Scene scene{.job = all.job,
                            .cluster = all.cluster,
                            .surveys = all.surveys,
                            .launcher = all.launcher,
                            .layout = all.layout,
                            .trials = trials,
                            .saved = saved};
  all.findings = checks::judge(scene);
  all.compared = checks::compared_software(scene);
  if (!has_saved_states()) return;
  all.compared_states = whole_hosts ? checks::compared_states(scene)
                                    : "not compared with saved states inside a Slurm job or a pod";
}

}  // namespace

void Surveyed::close() {
  constexpr std::chrono::seconds kSessionsTake{2};
  crew = nullptr;
  if (loop) loop->drain(kSessionsTake);
}

Surveyed::~Surveyed() {
  crew = nullptr;
  transport = nullptr;
  loop = nullptr;
}

Result<std::unique_ptr<Surveyed>> survey(const JobOptions& options, const Program& program,
                                         const SurveyFor& purpose) {
  auto all = std::make_unique<Surveyed>();
  MUSTER_TRY(all->job, read_job(options, program));
  all->job.attempt = purpose.attempt;
  all->ssh_patience = purpose.patience;
  MUSTER_TRY(Reach reach, find_reach(options, purpose.patience));
  MUSTER_CHECK(take_reach(std::move(reach), options.node_rank, *all));
  MUSTER_TRY(const HostErrors not_synced, sync_if_wanted(options, *all, purpose));
  facts::Request request = request_for(all->job);
  request.answer_within_s = options.answer_within_s;
  const bool activates = !all->job.activate.empty();
  const bool may_be_mpi = all->job.engine.empty() || engines::find(all->job.engine).is_mpi;
  request.software = true;
  // With a single host there is nothing to compare.
  request.hash_within_ms = all->cluster.hosts.size() > 1 ? kHashWithinMs : 0;
  const auto look_here = [&] {
    facts::Request here = request;
    here.software = false;                  // ranks do not use this machine's software
    if (!may_be_mpi) here.program.clear();  // only needed to find out which MPI the program uses
    all->launcher = facts::gather(here).facts;
  };
  if (activates) look_here();  // before the hosts: a slow activation here would use up their time
  if (activates && may_be_mpi && all->job.launcher.empty()) {
    // Only the activated environment shows which mpirun the hosts should have.
    if (!all->launcher.mpi.empty()) request.launchers.clear();
    for (const facts::Mpi& mpi : all->launcher.mpi) request.launchers.push_back(mpi.launcher);
  }
  const std::chrono::seconds patience(options.answer_within_s);
  const std::chrono::seconds activation = activates ? kActivationTakes : std::chrono::seconds(0);
  sys::Progress progress;
  all->loop = std::make_unique<sys::UvLoop>();
  all->crew = std::make_unique<run::Crew>(
      *all->loop, *all->transport, names(all->cluster),
      run::CrewOptions{.run_id = purpose.run_id,
                       .earlier = purpose.earlier,
                       .request = request,
                       .deadline = patience,
                       .for_facts = patience + activation,
                       .compare_clocks = purpose.compare_clocks,
                       .on_progress = purpose.quiet ? sys::OnProgress() : progress.shown()});
  all->surveys = all->crew->survey([&] {
    if (all->launcher.hostname.empty()) look_here();
  });
  for (facts::Survey& survey : all->surveys) {
    const auto failed = not_synced.find(survey.host);
    if (survey.facts && failed != not_synced.end()) survey.facts = unexpected(failed->second);
  }
  look_at_launchers_of_hosts(*all);
  MUSTER_TRY(all->layout, layout::decide(all->job, all->cluster, all->surveys, all->launcher));
  sys::LiveLine line;
  if (!purpose.quiet) line.show("testing the connections between the hosts");
  const std::vector<facts::Trial> trials = run::test_reach(
      *all->loop, *all->crew, run::plan_reach(all->layout, all->cluster, all->surveys));
  judge(trials, *all);
  return all;
}

// A missing program, and one that cannot be executed, have their own exit codes.
int refusal_code(const Surveyed& all) {
  for (const facts::Survey& survey : all.surveys) {
    if (!survey.facts) continue;
    const std::optional<facts::Program>& program = survey.facts->program;
    const std::optional<facts::Script>& script = survey.facts->script;
    const bool is_file = script && script->name.ends_with(".py");  // false for a module
    if (is_file && script->path.empty()) return kExitNotFound;
    if (!program) continue;
    if (program->path.empty()) return kExitNotFound;
    if (!program->executable ||
        facts::is_for_another_machine(program->architecture, survey.facts->cpu)) {
      return kExitCannotRun;
    }
  }
  return exit_code(ErrorCode::kFindings);
}

}  // namespace muster::cli
