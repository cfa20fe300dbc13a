#include "facts/mpi.hpp"

#include <array>
#include <climits>
#include <cstdlib>

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "engines/kind.hpp"
#include "facts/elf.hpp"
#include "facts/mapped_file.hpp"
#include "facts/mpi_identity.hpp"
#include "sys/hash.hpp"
#include "sys/path_search.hpp"
#include "sys/process.hpp"

namespace muster::facts {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string real_path(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) == nullptr ? path : resolved;
}

// Recognises an MPI by the launcher's file and the files next to it. Only hydra's file contains a
// version.
MpiIdentity family_of(const std::string& real) {
  const std::string folder = folder_of(real);
  const auto file = MappedFile::open(real);
  if (file && is_elf(file->bytes())) {
    MpiIdentity own = identify_mpi(elf_constants(file->bytes()));
    if (!own.kind.empty()) return own;
    for (const std::string_view library : {"libopen-rte.so", "libprrte.so"}) {
      if (file->bytes().find(library) != std::string_view::npos) return {.kind = engines::kOpenMpi};
    }
  } else if (MpiIdentity hydra = identify_mpi_file(folder + "/mpiexec.hydra");
             !hydra.kind.empty()) {
    return hydra;  // the launcher is a script around it, like Intel's
  }
  // The launcher may also be a small program that starts the real one next to it.
  if (!sys::is_program(folder + "/prterun")) return {};
  return {.kind = engines::kOpenMpi};
}

std::vector<std::string> library_folders(const std::string& launcher, const std::string& real) {
  std::vector<std::string> folders;
  utsname kernel{};
  (void)::uname(&kernel);
  // /usr/bin/mpirun may be a link into another prefix. Then /usr/lib does not belong to it.
  const std::string own = folder_of(folder_of(launcher));
  const std::string led_to = folder_of(folder_of(real));
  const bool leads_away = real_path(own) != led_to;
  for (const std::string& prefix : {leads_away ? led_to : own, leads_away ? own : led_to}) {
    const std::string triplet = std::string("/lib/") + kernel.machine + "-linux-gnu";
    for (const std::string& folder :
         {std::string("/lib"), std::string("/lib64"), triplet, std::string("/lib/release")}) {
      folders.push_back(prefix + folder);
    }
  }
  return folders;
}

// The first libmpi of this family in the folders; if the family is unknown, of any family.
std::string find_library(const std::vector<std::string>& folders, MpiIdentity& identity) {
  // Versioned names come first, because "libmpi.so" may be a linker script or belong to another
  // MPI. 40 is Open MPI 2 to 5, 12 is MPICH and Intel MPI, 0 is the standard ABI.
  constexpr std::array kNames = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi.so.20",
                                 "libmpi.so",    "libmpich.so",  "libmpi_abi.so.0"};
  for (const std::string& folder : folders) {
    for (const std::string name : kNames) {
      const std::string path = folder + "/" + name;
      if (::access(path.c_str(), R_OK) != 0) continue;
      MpiIdentity found = identify_mpi_file(path);
      if (found.kind.empty() || (!identity.kind.empty() && found.kind != identity.kind)) continue;
      if (found.version.empty()) found.version = identity.version;
      identity = std::move(found);
      return path;
    }
  }
  return {};
}

MpiIdentity ask_launcher(const std::string& launcher, const Variables& environment,
                         std::chrono::milliseconds deadline) {
  sys::Command command{.argv = {launcher, "--version"}, .deadline = deadline};
  for (const auto& [name, value] : environment) command.env.push_back(name + "=" + value);
  const auto ended = sys::run(command);
  return ended ? identify_mpi_answer(ended->out) : MpiIdentity();
}

std::string value_of_variable_in(const Variables& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool is_in(const std::string& folder, std::string_view library) {
  return ::access((folder + "/" + std::string(library)).c_str(), R_OK) == 0;
}

// Whether dlopen would find the library for a caller without a RUNPATH. The loader's cache contains
// names as plain text.
bool loader_finds(const std::string& library, const Variables& environment) {
  for (const std::string& folder :
       sys::path_folders(value_of_variable_in(environment, "LD_LIBRARY_PATH"))) {
    if (is_in(folder, library)) return true;
  }
  for (const char* folder : {"/lib", "/usr/lib", "/lib64", "/usr/lib64"}) {
    if (is_in(folder, library)) return true;
  }
  const auto cache = MappedFile::open("/etc/ld.so.cache");
  return cache && cache->bytes().find(library + '\0') != std::string_view::npos;
}

// Searches next to the launcher, and next to the file to which it links.
std::string find_daemon(const engines::Kind& kind, const std::string& launcher,
                        const std::string& real) {
  for (const std::string& folder : {folder_of(launcher), folder_of(real)}) {
    for (const std::string_view name : kind.daemons) {
      std::string path = folder + "/" + std::string(name);
      if (sys::is_program(path)) return path;
    }
  }
  return {};
}

void look_for_opened_library(const Variables& environment, Mpi& mpi) {
  const engines::Kind& kind = engines::find(mpi.kind);
  const std::string library(kind.opens_library);
  if (library.empty() || loader_finds(library, environment)) return;
  if (!value_of_variable_in(environment, std::string(kind.library_variable)).empty()) return;
  mpi.missing_library = library;
  const std::string prefix = folder_of(folder_of(mpi.launcher));
  for (const char* folder : {"/opt/mpi/libfabric/lib", "/libfabric/lib", "/lib"}) {
    if (!is_in(prefix + folder, library)) continue;
    mpi.missing_is_in = prefix + folder;
    return;
  }
}

}  // namespace

FileIdentity identity_of(const std::string& path) {
  struct stat status{};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  return {.path = path,
          .hash = sys::hash_file(path).value_or(""),
          .bytes = exists ? static_cast<std::uint64_t>(status.st_size) : 0};
}

Mpi read_mpi(const std::string& launcher, const Variables& environment,
             std::chrono::milliseconds deadline) {
  const std::string real = real_path(launcher);
  MpiIdentity identity = family_of(real);
  const std::string library = find_library(library_folders(launcher, real), identity);
  if (identity.version.empty()) {
    MpiIdentity asked = ask_launcher(launcher, environment, deadline);
    if (identity.kind.empty() || asked.kind == identity.kind) identity = std::move(asked);
  }
  Mpi mpi{.kind = identity.kind,
          .version = identity.version,
          .launcher = launcher,
          .library = library.empty() ? FileIdentity() : identity_of(library),
          .daemon = find_daemon(engines::find(identity.kind), launcher, real)};
  look_for_opened_library(environment, mpi);
  return mpi;
}

}  // namespace muster::facts
