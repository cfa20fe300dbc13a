#include "mpi/loader.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace muster::mpi {
namespace {

namespace fs = std::filesystem;

struct Abi {
  const char* name;    // of the plugin
  const char* soname;  // of the MPI
};
constexpr const char* kOnlyInOpenMpi = "ompi_mpi_comm_world";
constexpr Abi kOpenMpi{.name = "openmpi", .soname = "libmpi.so.40"};
constexpr Abi kMpich{.name = "mpich", .soname = "libmpi.so.12"};

struct Candidate {
  std::string path;  // a full path, or a bare name that the dynamic linker looks up
  std::string why;
};

std::vector<std::string>& further_prefixes() {
  static std::vector<std::string> prefixes;
  return prefixes;
}

std::string& plugin_folder() {
  static std::string folder;
  return folder;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the file of an MPI that this process has already loaded as a dependency of the program or
// of a Python module. Empty if there is none.
std::string loaded_already() {
  Dl_info info{};
  if (void* init = dlsym(RTLD_DEFAULT, "MPI_Init_thread");
      init != nullptr && dladdr(init, &info) != 0)
    return info.dli_fname;
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* each, std::size_t, void* result) {
        const std::string name = each->dlpi_name;
        const auto file = fs::path(name).filename().string();
        if (file.starts_with("libmpi.so") || file.starts_with("libmpich.so"))
          *static_cast<std::string*>(result) = name;
        return 0;
      },
      &found);
  return found;
}

// Installation prefixes of the launchers found among this process's ancestors.
std::vector<fs::path> launchers_among_ancestors() {
  const std::set<std::string> names = {"hydra_pmi_proxy", "mpiexec.hydra", "orted",  "orterun",
                                       "prted",           "prterun",       "mpirun", "mpiexec"};
  std::vector<fs::path> prefixes;
  int looked_at = 0;
  for (pid_t pid = getppid(); pid > 1 && looked_at < 16; ++looked_at) {
    const fs::path folder = "/proc/" + std::to_string(pid);
    std::error_code error;
    const auto program = fs::read_symlink(folder / "exe", error);
    if (!error && names.contains(program.filename()))
      prefixes.push_back(program.parent_path().parent_path());
    std::ifstream status(folder / "status");
    pid = 0;
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("PPid:")) pid = std::atoi(line.c_str() + 5);
  }
  return prefixes;
}

// Returns the ABIs to try, in order. Variables of Open MPI's mpirun or of hydra show which one the
// job uses. Slurm's PMI and PMIx can start either MPI, so both are tried.
std::vector<Abi> wanted_abis() {
  if (!variable("OMPI_COMM_WORLD_SIZE").empty()) return {kOpenMpi};
  const bool slurms = !variable("SLURM_JOB_ID").empty();
  if (!variable("PMI_SIZE").empty())
    return slurms ? std::vector{kMpich, kOpenMpi} : std::vector{kMpich};
  return {kOpenMpi, kMpich};
}

void add_folder(std::vector<Candidate>& all, const fs::path& prefix, const Abi& abi,
                const std::string& why) {
  for (const char* sub : {"lib", "lib64", "lib/release"}) {
    std::error_code error;
    if (const auto file = prefix / sub / abi.soname; fs::exists(file, error))
      all.push_back({.path = file, .why = why});
  }
}

std::vector<Candidate> in_folders_of(const Abi& abi) {
  std::vector<Candidate> all;
  for (const auto& prefix : launchers_among_ancestors())
    add_folder(all, prefix, abi, "the launcher's");
  for (const char* name : {"OPAL_PREFIX", "I_MPI_ROOT"})
    if (!variable(name).empty()) add_folder(all, variable(name), abi, name);
  for (const auto& prefix : further_prefixes()) add_folder(all, prefix, abi, prefix);
  return all;
}

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  std::vector<Candidate> by_name;
  for (const Abi& abi : wanted_abis()) {
    const auto found = in_folders_of(abi);
    all.insert(all.end(), found.begin(), found.end());
    by_name.push_back({.path = abi.soname, .why = "in the search path of the dynamic linker"});
  }
  all.insert(all.end(), by_name.begin(), by_name.end());
  return all;
}

// Returns the path of the plugin: in the folder that look_for_plugins_in() named. Without one, in
// muster/ below the folder of the library or program that contains this code, or in that folder
// itself.
std::string plugin_file(const Abi& abi) {
  Dl_info here{};
  dladdr(reinterpret_cast<void*>(&load_library), &here);
  const std::string file = std::string("libmuster_mpi_") + abi.name + ".so";
  if (!plugin_folder().empty()) return fs::path(plugin_folder()) / file;
  const auto folder = fs::weakly_canonical(here.dli_fname).parent_path();
  for (const auto& place : {folder / "muster" / file, folder / file}) {
    std::error_code error;
    if (fs::exists(place, error)) return place;
  }
  return folder / "muster" / file;
}

class Loader {
 public:
  // Loads the candidate. If that works, it is the process's MPI from now on.
  bool take(const Candidate& candidate) {
    // Load it with RTLD_LOCAL first, so that an MPI that turns out to be unusable does not shadow
    // the next candidate.
    void* mpi = dlopen(candidate.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (mpi == nullptr) return note(candidate, dlerror());
    void* init = dlsym(mpi, "MPI_Init_thread");
    Dl_info info{};
    if (init == nullptr || dladdr(init, &info) == 0)
      return refuse(candidate, mpi, "it is not an MPI library");
    result.path = info.dli_fname;
    if (fs::path(result.path).filename().string().starts_with("libmpi_abi"))
      return refuse(
          candidate, mpi,
          "it has MPI's standard ABI, which is not supported; use libmpi.so in the same directory");
    const Abi& abi = dlsym(mpi, kOnlyInOpenMpi) != nullptr ? kOpenMpi : kMpich;
    const std::string file = plugin_file(abi);
    if (!fs::exists(file))
      return refuse(candidate, mpi,
                    "libmuster was built without support for this MPI: there is no " + file);
    dlopen(candidate.path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    // From here on every plugin would bind to this MPI, so no other can be tried.
    is_settled = true;
    void* plugin = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto* make =
        plugin == nullptr ? nullptr : reinterpret_cast<MakeLibrary>(dlsym(plugin, kMakeLibrary));
    if (make == nullptr) {
      result.path.clear();
      return note(candidate, dlerror());
    }
    result.library.reset(make());
    result.why = candidate.why;
    result.abi = abi.name;
    return true;
  }

  Loaded result;
  bool is_settled = false;

 private:
  bool refuse(const Candidate& candidate, void* mpi, const std::string& why) {
    dlclose(mpi);
    result.path.clear();
    return note(candidate, why);
  }

  bool note(const Candidate& candidate, const std::string& why) {
    result.tried += "\n  " + candidate.path + " (" + candidate.why + "): " + why;
    return false;
  }
};

}  // namespace

void look_also_in(std::string prefix) {
  further_prefixes().push_back(std::move(prefix));
}

void look_for_plugins_in(std::string folder) {
  plugin_folder() = std::move(folder);
}

Loaded load_library() {
  Loader loader;
  if (const auto file = loaded_already(); !file.empty()) {
    loader.take({.path = file, .why = "already loaded"});
    return std::move(loader.result);
  }
  if (const auto file = variable("MUSTER_MPI_LIBRARY"); !file.empty()) {
    loader.take({.path = file, .why = "MUSTER_MPI_LIBRARY"});
    return std::move(loader.result);
  }
  for (const auto& candidate : candidates())
    if (loader.take(candidate) || loader.is_settled) break;
  return std::move(loader.result);
}

}  // namespace muster::mpi
