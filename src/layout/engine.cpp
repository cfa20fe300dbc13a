#include "layout/engine.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "layout/python.hpp"

namespace muster::layout {
namespace {

int take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('.')) {
    text.remove_prefix(1);
  } else {
    text = {};
  }
  return number;
}

Engine to_engine(const facts::Mpi& mpi) {
  return {.kind = mpi.kind,
          .version = mpi.version,
          .major = parse_version(mpi.version).major,
          .launcher = mpi.launcher};
}

// The first host's program that is linked to an MPI we know; null: none is.
const facts::Program* linked_program(std::span<const facts::Facts* const> hosts) {
  for (const facts::Facts* host : hosts) {
    if (host->program && !host->program->libmpi_kind.empty()) return &*host->program;
  }
  return nullptr;
}

int likeness(const facts::Mpi& mpi, const facts::Program& program) {
  if (mpi.kind == program.libmpi_kind && mpi.version == program.libmpi_version) return 3;
  if (!speak_the_same(mpi.kind, mpi.version, program.libmpi_kind, program.libmpi_version)) return 0;
  return mpi.kind == program.libmpi_kind ? 2 : 1;
}

// Null: there is none. An empty kind: any that is known.
const facts::Mpi* first_of_kind(const facts::Facts& launcher, std::string_view kind) {
  const auto found = std::find_if(
      launcher.mpi.begin(), launcher.mpi.end(),
      [&](const facts::Mpi& mpi) { return kind.empty() ? !mpi.kind.empty() : mpi.kind == kind; });
  return found == launcher.mpi.end() ? nullptr : &*found;
}

EngineChoice named_launcher(const Job& job, const facts::Facts& launcher) {
  const auto found =
      std::find_if(launcher.mpi.begin(), launcher.mpi.end(),
                   [&](const facts::Mpi& mpi) { return mpi.launcher == job.launcher; });
  if (found == launcher.mpi.end()) {
    return {{.launcher = job.launcher},
            fmt::format("no engine: {} does not exist on this machine", job.launcher)};
  }
  if (found->kind.empty()) {
    return {{.launcher = job.launcher},
            fmt::format("no engine: {} is not an MPI launcher that muster knows", job.launcher)};
  }
  return {to_engine(*found), fmt::format("engine {} at {}: you asked for it",
                                         mpi_name(found->kind, found->version), found->launcher)};
}

bool is_same_minor(std::string_view one, std::string_view other) {
  const Version left = parse_version(one), right = parse_version(other);
  return left.major == right.major && left.minor == right.minor;
}

// Whether a program that mentions MPI with this word may be meant for this MPI.
bool suits(const facts::Mpi& mpi, std::string_view word) {
  if (word.starts_with("OMPI_")) return mpi.kind == "openmpi";
  if (word.starts_with("PMI_")) return mpi.kind == "mpich" || mpi.kind == "intel";
  return is_mpi(mpi.kind);
}

// The first MPI here that suits the Python program and is on every host; null if there is none.
const facts::Mpi* mpi_for_python(const Job& job, std::span<const facts::Facts* const> hosts,
                                 const facts::Facts& launcher) {
  if (job.mpi_word.empty()) return nullptr;
  for (const facts::Mpi& mpi : launcher.mpi) {
    const auto has_it = [&](const facts::Facts* host) {
      return std::any_of(host->mpi.begin(), host->mpi.end(), [&](const facts::Mpi& other) {
        return other.launcher == mpi.launcher && other.kind == mpi.kind &&
               is_same_minor(other.version, mpi.version);
      });
    };
    if (suits(mpi, job.mpi_word) && std::all_of(hosts.begin(), hosts.end(), has_it)) return &mpi;
  }
  return nullptr;
}

// Each host has its own; the version is that of the first.
EngineChoice torchrun(const Job& job, std::span<const facts::Facts* const> hosts,
                      std::string_view why) {
  Engine engine{.kind = job.pods > 0 ? "pods" : "torchrun",
                .launcher = job.launcher.empty() ? "torchrun" : job.launcher};
  if (!hosts.empty()) engine.version = hosts.front()->torch.version;
  engine.major = parse_version(engine.version).major;
  const std::string name = mpi_name(engine.kind, engine.version);
  return {std::move(engine), fmt::format("engine {}: {}", name, why)};
}

// srun starts ranks of any MPI, if it is told which way they ask for their places.
EngineChoice choose_slurm(const Job& job, std::span<const facts::Facts* const> hosts) {
  EngineChoice choice{
      .engine = {.kind = "slurm", .launcher = job.launcher.empty() ? "srun" : job.launcher},
      .why = "engine Slurm: the hosts belong to a Slurm job"};
  const facts::Program* program = linked_program(hosts);
  if (program == nullptr) {
    choice.why +=
        "; srun uses the site's default for --mpi, because the program is not linked to an MPI "
        "that muster knows";
    return choice;
  }
  choice.engine.mpi = program->libmpi_kind;
  choice.engine.pmi = program->libmpi_kind == "openmpi" ? "pmix" : "pmi2";
  choice.why += fmt::format("; --mpi={}: the program is linked to {}", choice.engine.pmi,
                            mpi_name(program->libmpi_kind, program->libmpi_version));
  return choice;
}

}  // namespace

Version parse_version(std::string_view text) {
  Version version;
  version.major = take_number(text);
  version.minor = take_number(text);
  version.patch = take_number(text);
  return version;
}

std::string mpi_name(std::string_view kind, std::string_view version) {
  std::string name = kind == "openmpi"    ? "Open MPI"
                     : kind == "mpich"    ? "MPICH"
                     : kind == "intel"    ? "Intel MPI"
                     : kind == "slurm"    ? "Slurm"
                     : kind == "pods"     ? "torchrun in pods, PyTorch"
                     : kind == "torchrun" ? "torchrun, PyTorch"
                     : kind.empty()       ? "an unknown MPI"
                                          : std::string(kind);
  return version.empty() ? name : fmt::format("{} {}", name, version);
}

bool is_mpi(std::string_view kind) {
  return kind == "openmpi" || kind == "mpich" || kind == "intel";
}

bool speak_the_same(std::string_view kind, std::string_view version, std::string_view other_kind,
                    std::string_view other_version) {
  const auto is_hydra = [](std::string_view one) { return one == "mpich" || one == "intel"; };
  if (is_hydra(kind) && is_hydra(other_kind)) return true;
  if (kind != other_kind) return false;
  const int major = parse_version(version).major;
  const int other = parse_version(other_version).major;
  return major == 0 || other == 0 || major == other;  // an unknown version is no contradiction
}

EngineChoice choose_engine(const Job& job, std::span<const facts::Facts* const> hosts,
                           const facts::Facts& launcher) {
  if (job.engine == "torchrun" || job.engine == "pods") {
    return torchrun(job, hosts, job.engine_why.empty() ? "you asked for it" : job.engine_why);
  }
  if (job.engine == "slurm") return choose_slurm(job, hosts);
  if (!job.launcher.empty()) return named_launcher(job, launcher);
  const bool has_torchrun =
      !hosts.empty() && std::all_of(hosts.begin(), hosts.end(),
                                    [](auto* one) { return !one->torch.torchrun.empty(); });
  const facts::Program* linked = linked_program(hosts);
  if (job.engine.empty() && linked == nullptr && has_torchrun && is_python(job.program)) {
    if (const facts::Mpi* mpi = mpi_for_python(job, hosts, launcher)) {
      return {to_engine(*mpi),
              fmt::format("engine {} at {}: the program mentions MPI ({}), which torchrun does "
                          "not start",
                          mpi_name(mpi->kind, mpi->version), mpi->launcher, job.mpi_word)};
    }
    return torchrun(job, hosts, "the program is in Python, and every host has torchrun");
  }
  const facts::Mpi* best = first_of_kind(launcher, job.engine);
  std::string why = job.engine.empty() ? "the first MPI on this machine" : "you asked for it";
  if (linked != nullptr) {
    int most = best == nullptr ? 0 : likeness(*best, *linked);
    for (const facts::Mpi& mpi : launcher.mpi) {
      if (mpi.kind.empty() || (!job.engine.empty() && mpi.kind != job.engine)) continue;
      if (likeness(mpi, *linked) <= most) continue;
      most = likeness(mpi, *linked);
      best = &mpi;
      why = fmt::format("the program is linked to {}",
                        mpi_name(linked->libmpi_kind, linked->libmpi_version));
    }
  }
  if (best == nullptr && job.engine.empty() && linked == nullptr && has_torchrun) {
    return torchrun(job, hosts, "there is no MPI on this machine, and every host has torchrun");
  }
  if (best == nullptr) {
    return {{},
            fmt::format("no engine: there is no {} on this machine",
                        job.engine.empty() ? "MPI" : mpi_name(job.engine))};
  }
  return {to_engine(*best), fmt::format("engine {} at {}: {}", mpi_name(best->kind, best->version),
                                        best->launcher, why)};
}

}  // namespace muster::layout
