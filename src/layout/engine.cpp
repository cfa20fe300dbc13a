#include "layout/engine.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "engines/kind.hpp"
#include "layout/python.hpp"

namespace muster::layout {
namespace {

using engines::name_of;

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

// The first program on a host that is linked to a known MPI; null if there is none.
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

// The launcher's first MPI of this kind, or of any known kind if `kind` is empty; null if there is
// none.
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
                                         name_of(found->kind, found->version), found->launcher)};
}

bool is_same_minor(std::string_view one, std::string_view other) {
  const Version left = parse_version(one), right = parse_version(other);
  return left.major == right.major && left.minor == right.minor;
}

bool is_variable_of(const engines::Kind& kind, std::string_view word) {
  if (kind.ranks == nullptr) return false;
  const auto begins = [&](std::string_view start) { return word.starts_with(start); };
  return std::any_of(kind.ranks->in_code.begin(), kind.ranks->in_code.end(), begins);
}

// Whether a program that mentions MPI by this word may be written for this MPI. It cannot be if the
// word is a variable that only other MPIs set.
bool suits(const facts::Mpi& mpi, std::string_view word) {
  const engines::Kind& kind = engines::find(mpi.kind);
  const auto& kinds = engines::all();
  const bool is_variable = std::any_of(kinds.begin(), kinds.end(),
                                       [&](const auto& one) { return is_variable_of(one, word); });
  return kind.is_mpi && (!is_variable || is_variable_of(kind, word));
}

// The launcher's first MPI that suits the Python program and that every host has; null if there is
// none.
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

std::string launcher_of(const engines::Kind& kind, const Job& job) {
  return job.launcher.empty() ? std::string(kind.launchers.front()) : job.launcher;
}

const engines::Kind& torchrun_kind(const Job& job) {
  return engines::with_pytorch(job.pods > 0 ? engines::HostsBy::kPod : engines::HostsBy::kSsh);
}

// Each host uses its own torchrun. The version is that of the first host.
EngineChoice torchrun(const Job& job, std::span<const facts::Facts* const> hosts,
                      std::string_view why) {
  const engines::Kind& kind = torchrun_kind(job);
  Engine engine{.kind = std::string(kind.word), .launcher = launcher_of(kind, job)};
  if (!hosts.empty()) engine.version = hosts.front()->torch.version;
  engine.major = parse_version(engine.version).major;
  const std::string name = name_of(engine.kind, engine.version);
  return {std::move(engine), fmt::format("engine {}: {}", name, why)};
}

// The first MPI of the first host that suits the Python program and is of a kind that all hosts
// have; null if there is none.
const facts::Mpi* mpi_on_all(const Job& job, std::span<const facts::Facts* const> hosts) {
  if (job.mpi_word.empty() || hosts.empty()) return nullptr;
  for (const facts::Mpi& mpi : hosts.front()->mpi) {
    const auto has_it = [&](const facts::Facts* host) {
      return std::any_of(host->mpi.begin(), host->mpi.end(),
                         [&](const facts::Mpi& other) { return other.kind == mpi.kind; });
    };
    if (suits(mpi, job.mpi_word) && std::all_of(hosts.begin(), hosts.end(), has_it)) return &mpi;
  }
  return nullptr;
}

// Chooses the interface by which ranks ask the resource manager for their rank numbers. With the
// right one, the manager can start the ranks of any MPI.
EngineChoice choose_manager(const engines::Kind& kind, const Job& job,
                            std::span<const facts::Facts* const> hosts) {
  EngineChoice choice{
      .engine = {.kind = std::string(kind.word), .launcher = launcher_of(kind, job)},
      .why = fmt::format("engine {0}: the hosts belong to a {0} job", kind.name)};
  const facts::Program* program = linked_program(hosts);
  const facts::Mpi* found = program == nullptr ? mpi_on_all(job, hosts) : nullptr;
  const std::string mpi = program != nullptr ? program->libmpi_kind : found ? found->kind : "";
  const std::string_view pmi = mpi.empty() ? "" : engines::find(mpi).pmi;
  if (pmi.empty()) {
    choice.why += fmt::format(
        "; {} uses the site's default for {}, because the program is not linked to an MPI that "
        "muster knows",
        kind.launchers.front(), kind.pmi_flag);
    return choice;
  }
  choice.engine.mpi = mpi;
  choice.engine.pmi = pmi;
  choice.why += fmt::format("; {}={}: ", kind.pmi_flag, pmi);
  choice.why += found ? fmt::format("the script uses MPI, and the hosts have {}",
                                    name_of(found->kind, found->version))
                      : fmt::format("the program is linked to {}",
                                    name_of(program->libmpi_kind, program->libmpi_version));
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

bool speak_the_same(std::string_view kind, std::string_view version, std::string_view other_kind,
                    std::string_view other_version) {
  const engines::Kind& one = engines::find(kind);
  const engines::Kind& two = engines::find(other_kind);
  if (one.fits_all_versions && two.fits_all_versions && one.pmi == two.pmi) return true;
  if (kind != other_kind) return false;
  const int major = parse_version(version).major;
  const int other = parse_version(other_version).major;
  return major == 0 || other == 0 || major == other;  // an unknown version matches every version
}

EngineChoice choose_engine(const Job& job, std::span<const facts::Facts* const> hosts,
                           const facts::Facts& launcher) {
  const engines::Kind& asked = engines::find(job.engine);
  if (asked.comes_with_pytorch) {
    return torchrun(job, hosts, job.engine_why.empty() ? "you asked for it" : job.engine_why);
  }
  if (!asked.pmi_flag.empty()) return choose_manager(asked, job, hosts);
  if (!job.launcher.empty()) return named_launcher(job, launcher);
  // torchrun serves the store on all interfaces, so it is not an option for a job with a confined
  // store.
  const bool has_torchrun = !job.confine_store && !hosts.empty() &&
                            std::all_of(hosts.begin(), hosts.end(),
                                        [](auto* one) { return !one->torch.torchrun.empty(); });
  const facts::Program* linked = linked_program(hosts);
  if (job.engine.empty() && linked == nullptr && has_torchrun && is_python(job.program)) {
    if (const facts::Mpi* mpi = mpi_for_python(job, hosts, launcher)) {
      return {to_engine(*mpi),
              fmt::format("engine {} at {}: the program mentions MPI ({}), which torchrun does "
                          "not start",
                          name_of(mpi->kind, mpi->version), mpi->launcher, job.mpi_word)};
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
                        name_of(linked->libmpi_kind, linked->libmpi_version));
    }
  }
  if (best == nullptr && job.engine.empty() && linked == nullptr && has_torchrun) {
    return torchrun(job, hosts, "there is no MPI on this machine, and every host has torchrun");
  }
  if (best == nullptr) {
    return {{},
            fmt::format("no engine: there is no {} on this machine",
                        job.engine.empty() ? "MPI" : name_of(job.engine))};
  }
  return {to_engine(*best), fmt::format("engine {} at {}: {}", name_of(best->kind, best->version),
                                        best->launcher, why)};
}

}  // namespace muster::layout
