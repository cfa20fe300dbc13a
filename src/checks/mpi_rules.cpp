// The MPI that starts the job, on the launcher and on the hosts, and the MPI that the program is
// linked to.
#include <algorithm>

#include <fmt/format.h>

#include "checks/activation_advice.hpp"
#include "checks/host_groups.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "engines/kind.hpp"
#include "facts/program.hpp"
#include "layout/engine.hpp"

namespace muster::checks {
namespace {

using engines::name_of;

const facts::Mpi* find_mpi(const facts::Facts& facts, const std::string& launcher) {
  const auto found = std::find_if(facts.mpi.begin(), facts.mpi.end(),
                                  [&](const facts::Mpi& mpi) { return mpi.launcher == launcher; });
  return found == facts.mpi.end() ? nullptr : &*found;
}

std::string found_text(const facts::Facts& facts) {
  std::vector<std::string> texts;
  for (const facts::Mpi& mpi : facts.mpi) {
    texts.push_back(fmt::format("{} at {}", name_of(mpi.kind, mpi.version), mpi.launcher));
  }
  return texts.empty() ? "no mpirun was found" : "found " + listed(texts, 4);
}

// The finding for a --launcher that does not exist or is not executable on this machine. If it were
// a program, it would be among the launcher's facts.
Finding not_there(const Scene& scene, const std::string& asked) {
  return {.id = std::string(kEngineMissing),
          .severity = Severity::kError,
          .what = fmt::format("{} does not exist on this machine or is not executable", asked),
          .evidence = found_text(scene.launcher),
          .fix =
              "pass the path of an mpirun with --launcher, or leave --launcher out: muster then "
              "chooses one"};
}

Finding none_here(const Scene& scene) {
  const std::string& asked = scene.layout.engine.launcher;
  if (!asked.empty() && find_mpi(scene.launcher, asked) == nullptr) return not_there(scene, asked);
  const bool any = scene.job.engine.empty();
  const engines::Kind& wanted = any ? engines::all().front() : engines::find(scene.job.engine);
  return {.id = std::string(kEngineMissing),
          .severity = Severity::kError,
          .what = asked.empty()
                      ? fmt::format("there is no {} on this machine that could start the job",
                                    any ? "MPI" : wanted.name)
                      : fmt::format("{} on this machine is not an MPI launcher that muster knows",
                                    asked),
          .evidence = found_text(scene.launcher),
          .fix = fmt::format("{}install the same {} on this machine and on all hosts, at the same "
                             "path:\n  pip install {}",
                             any ? "" : wanted.before_install, wanted.name, wanted.package)};
}

Finding none_there(const layout::Engine& engine, const Participant& host) {
  return {.id = std::string(kEngineMissing),
          .severity = Severity::kError,
          .hosts = {host.name()},
          .what = fmt::format("{} is not at {} on the host", name_of(engine.kind, engine.version),
                              engine.launcher),
          .evidence = found_text(*host.facts),
          .fix = "install the same MPI on the host, at the same path as on this machine"};
}

// The finding for a host that lacks the daemon that mpirun would start there. The daemon is beside
// mpirun on this machine.
Finding lacks_daemon(const layout::Engine& engine, const facts::Mpi& here,
                     const Participant& host) {
  return {.id = std::string(kEngineMissing),
          .severity = Severity::kError,
          .hosts = {host.name()},
          .what = fmt::format("{} starts {} on each host, and the host lacks it",
                              name_of(engine.kind, engine.version), here.daemon),
          .fix = "install the same MPI on the host again, at the same path as on this machine"};
}

// Whether the machines have the same architecture. Otherwise, even the same version of a library is
// a different file.
bool have_one_architecture(const facts::Facts& one, const facts::Facts& other) {
  return !facts::is_for_another_machine(one.cpu.architecture, other.cpu);
}

// How the MPI on the host differs from the one on the launcher; nothing if it does not.
std::optional<Finding> difference(const facts::Mpi& here, const facts::Mpi& there,
                                  bool one_architecture) {
  const layout::Version own = layout::parse_version(here.version);
  const layout::Version other = layout::parse_version(there.version);
  Finding finding{
      .id = std::string(kEngineVersion),
      .severity = Severity::kWarning,
      .evidence = fmt::format("{} on the host, {} on this machine",
                              name_of(there.kind, there.version), name_of(here.kind, here.version)),
      .fix = "install the same version at the same path on all hosts and on this machine"};
  if (there.kind.empty() || here.kind != there.kind) {
    finding.severity = Severity::kError;
    finding.what =
        fmt::format("{} is a different MPI from the one on this machine", there.launcher);
  } else if (here.version.empty() != there.version.empty()) {
    finding.what = fmt::format("muster cannot read the version of {} on {}", there.launcher,
                               there.version.empty() ? "the host" : "this machine");
    finding.fix = "compare the versions, and install the same one everywhere: mpirun --version";
  } else if (own.major != other.major || own.minor != other.minor) {
    finding.severity = Severity::kError;
    finding.what =
        fmt::format("{} has a different version from the one on this machine", there.launcher);
  } else if (here.version != there.version) {
    finding.what = fmt::format("{} has a different patch version from the one on this machine",
                               there.launcher);
  } else if (one_architecture && !here.library.hash.empty() && !there.library.hash.empty() &&
             here.library.hash != there.library.hash) {
    finding.what = "its MPI has the same version as this machine's but is a different build";
    finding.evidence =
        fmt::format("{} has the hash {}, on this machine {}", there.library.path,
                    there.library.hash.substr(0, 12), here.library.hash.substr(0, 12));
  } else {
    return std::nullopt;
  }
  return finding;
}

// Whether the program loads the engine's own library and the engines of the launcher and of the
// host differ. That difference is reported anyway, so the library's need not be.
bool is_told_by_engine(const Scene& scene, const facts::Facts& host,
                       const facts::Program& program) {
  const facts::Mpi* here = find_mpi(scene.launcher, scene.layout.engine.launcher);
  const facts::Mpi* there = find_mpi(host, scene.layout.engine.launcher);
  return here != nullptr && there != nullptr && program.libmpi &&
         there->library.hash == program.libmpi->hash &&
         difference(*here, *there, have_one_architecture(scene.launcher, host)).has_value();
}

Finding singletons(const layout::Engine& engine, const facts::Program& program,
                   const std::string& host) {
  return {.id = std::string(kAllRanksZero),
          .severity = Severity::kError,
          .hosts = {host},
          .what =
              "the program is linked to a different MPI from the one that starts it: every rank "
              "would think that it is rank 0 of 1",
          .evidence = fmt::format("{} loads {}{}; the engine is {}", program.path,
                                  name_of(program.libmpi_kind, program.libmpi_version),
                                  program.libmpi ? " (" + program.libmpi->path + ")" : "",
                                  name_of(engine.kind, engine.version)),
          .fix =
              "start the program with the mpirun of the MPI that it is linked to (--launcher "
              "PATH), or rebuild it with the mpicxx of the MPI that starts it"};
}

Finding no_torchrun(const Scene& scene, const std::string& host) {
  return {.id = std::string(kEngineMissing),
          .severity = Severity::kError,
          .hosts = {host},
          .what = "torchrun is not in PATH on the host",
          .fix = fmt::format("activate the environment that has PyTorch: {}, or install it:\n"
                             "  pip install torch",
                             how_to_activate(scene.launcher))};
}

Finding speaks_of_mpi(const Scene& scene) {
  return {
      .id = std::string(kAllRanksZero),
      .severity = Severity::kWarning,
      .what = fmt::format("the program mentions MPI ({}), but torchrun does not start MPI: with "
                          "backend \"mpi\" or mpi4py each rank would see a world size of 1",
                          scene.job.mpi_word),
      .evidence = found_text(scene.launcher) +
                  " on this machine; no suitable MPI is installed on every host",
      .fix =
          "install the same MPI on this machine and on all hosts, at the same path; if the program "
          "does not use MPI, pass --engine torchrun"};
}

// Checks every host, because each host uses its own torchrun.
Findings find_torchrun(const Scene& scene) {
  Findings findings;
  if (scene.job.engine.empty() && !scene.job.mpi_word.empty()) {
    findings.push_back(speaks_of_mpi(scene));
  }
  if (!scene.job.launcher.empty()) return findings;
  for (const Participant& host : participants(scene)) {
    if (host.facts->torch.torchrun.empty()) findings.push_back(no_torchrun(scene, host.name()));
  }
  return findings;
}

// Finds programs that are linked to MPI. torchrun does not tell MPI about ranks, so each rank would
// think that it is the only one.
Findings alone_under_torchrun(const Scene& scene) {
  Findings findings;
  for (const Participant& host : participants(scene)) {
    const auto& program = host.facts->program;
    if (program && !program->libmpi_kind.empty()) {
      findings.push_back(singletons(scene.layout.engine, *program, host.name()));
    }
  }
  return findings;
}

// A rank would abort in MPI_Init, but ranks that do not use MPI (with Gloo, for example) would run.
Finding cannot_start(const Scene& scene, const facts::Mpi& mpi, const Participant& host) {
  const auto& program = host.facts->program;
  const bool uses_mpi = (program && !program->libmpi_kind.empty()) || !scene.job.mpi_word.empty();
  const std::string folder = mpi.missing_is_in.empty() ? "FOLDER" : mpi.missing_is_in;
  return {.id = std::string(kFabricMissing),
          .severity = uses_mpi ? Severity::kError : Severity::kWarning,
          .hosts = {host.name()},
          .what = fmt::format("{} cannot start in a rank: it does not find {}",
                              name_of(mpi.kind, mpi.version), mpi.missing_library),
          .evidence = mpi.missing_is_in.empty()
                          ? "neither the system nor this MPI has it"
                          : fmt::format("it is in {}, which LD_LIBRARY_PATH does not name",
                                        mpi.missing_is_in),
          .fix = fmt::format("set up the environment of this MPI: --activate 'source "
                             "/opt/intel/oneapi/setvars.sh' for oneAPI, or\n  --activate 'export "
                             "LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH'",
                             folder)};
}

}  // namespace

Findings find_engine(const Scene& scene) {
  const layout::Engine& engine = scene.layout.engine;
  if (engine.kind.empty()) return {none_here(scene)};
  const engines::Kind& kind = engines::find(engine.kind);
  if (kind.comes_with_pytorch) return find_torchrun(scene);
  if (!kind.is_mpi) return {};
  const facts::Mpi* here = find_mpi(scene.launcher, engine.launcher);
  Findings findings;
  for (const Participant& host : participants(scene)) {
    const facts::Mpi* there = find_mpi(*host.facts, engine.launcher);
    if (there == nullptr) {
      findings.push_back(none_there(engine, host));
      continue;
    }
    if (!there->missing_library.empty()) findings.push_back(cannot_start(scene, *there, host));
    if (here == nullptr) continue;
    auto finding = difference(*here, *there, have_one_architecture(scene.launcher, *host.facts));
    if (finding) {
      finding->hosts = {host.name()};
      findings.push_back(*std::move(finding));
    } else if (!here->daemon.empty() && there->daemon.empty()) {
      findings.push_back(lacks_daemon(engine, *here, host));
    }
  }
  return findings;
}

Findings find_libmpi(const Scene& scene) {
  Findings findings;
  HostGroups builds;
  const layout::Engine& engine = scene.layout.engine;
  const engines::Kind& kind = engines::find(engine.kind);
  if (kind.comes_with_pytorch) return alone_under_torchrun(scene);
  for (const Participant& host : participants(scene)) {
    if (!host.facts->program) continue;
    const facts::Program& program = *host.facts->program;
    if (kind.is_mpi && !program.libmpi_kind.empty() &&
        !layout::speak_the_same(engine.kind, engine.version, program.libmpi_kind,
                                program.libmpi_version)) {
      findings.push_back(singletons(engine, program, host.name()));
    } else if (program.libmpi && !program.libmpi->hash.empty() &&
               !is_told_by_engine(scene, *host.facts, program)) {
      builds.add(fmt::format("{} ({}, {})", program.libmpi->path,
                             name_of(program.libmpi_kind, program.libmpi_version),
                             program.libmpi->hash.substr(0, 12)),
                 host.name());
    }
  }
  const std::string usual = builds.usual_hosts();
  for (const HostGroup& group : builds.odd()) {
    findings.push_back(
        {.id = std::string(kEngineVersion),
         .severity = Severity::kWarning,
         .hosts = group.hosts,
         .what = fmt::format("the program loads a different libmpi from the one on {}", usual),
         .evidence = fmt::format("{}; on {} {}", group.key, usual, builds.usual().key),
         .fix = "install the same MPI at the same path on all hosts, or activate "
                "the same environment"});
  }
  return findings;
}

}  // namespace muster::checks
