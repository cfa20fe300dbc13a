#include "mpi/loader.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
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
  const char* symbol;  // that only an MPI of this ABI has
};
constexpr Abi kOpenMpi{
    .name = "openmpi", .soname = "libmpi.so.40", .symbol = "ompi_mpi_comm_world"};
constexpr Abi kMpich{.name = "mpich", .soname = "libmpi.so.12", .symbol = "MPIR_Process"};

struct Candidate {
  std::string path;  // or a bare name, for the dynamic linker
  std::string why;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The file of an MPI that this process has mapped.
std::string loaded_already() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        const std::string name = info->dlpi_name;
        const auto file = fs::path(name).filename().string();
        if (file.starts_with(kOpenMpi.soname) || file.starts_with(kMpich.soname))
          *static_cast<std::string*>(result) = name;
        return 0;
      },
      &found);
  return found;
}

// The launcher's daemon is among the ancestors: hydra_pmi_proxy, orted, prted or mpirun. Whose
// children it starts, their MPI lies beside it.
std::vector<fs::path> ancestors() {
  std::vector<fs::path> programs;
  for (pid_t pid = getppid(); pid > 1 && programs.size() < 8;) {
    const fs::path folder = "/proc/" + std::to_string(pid);
    std::error_code error;
    if (const auto program = fs::read_symlink(folder / "exe", error); !error)
      programs.push_back(program);
    std::ifstream status(folder / "status");
    pid = 0;
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("PPid:")) pid = std::atoi(line.c_str() + 5);
  }
  return programs;
}

// Which ABI the launcher speaks; nothing when it does not say.
std::optional<Abi> launchers_abi() {
  if (!variable("OMPI_COMM_WORLD_SIZE").empty()) return kOpenMpi;
  if (!variable("PMI_SIZE").empty() || !variable("I_MPI_HYDRA_UUID").empty()) return kMpich;
  if (!variable("PMIX_RANK").empty()) return kOpenMpi;
  return std::nullopt;
}

void add_folder(std::vector<Candidate>& all, const fs::path& prefix, const Abi& abi,
                const std::string& why) {
  for (const char* sub : {"lib", "lib64", "lib/release"}) {
    std::error_code error;
    if (const auto file = prefix / sub / abi.soname; fs::exists(file, error))
      all.push_back({.path = file, .why = why});
  }
}

std::vector<Candidate> candidates_of(const Abi& abi) {
  std::vector<Candidate> all;
  for (const char* name : {"OPAL_PREFIX", "I_MPI_ROOT"})
    if (!variable(name).empty()) add_folder(all, variable(name), abi, name);
  for (const auto& program : ancestors())
    add_folder(all, program.parent_path().parent_path(), abi, "beside " + program.string());
  all.push_back({.path = abi.soname, .why = "where the dynamic linker looks"});
  return all;
}

// Plugins lie beside the library or program that this code is part of, or in muster/ there.
std::string plugin_file(const Abi& abi) {
  Dl_info here{};
  dladdr(reinterpret_cast<void*>(&load_library), &here);
  const std::string file = std::string("libmuster_mpi_") + abi.name + ".so";
  const auto folder = fs::weakly_canonical(here.dli_fname).parent_path();
  for (const auto& place : {folder / "muster" / file, folder / file}) {
    std::error_code error;
    if (fs::exists(place, error)) return place;
  }
  return folder / "muster" / file;
}

class Loader {
 public:
  // Whether it could be loaded, and is the MPI in use from now on.
  bool take(const Candidate& candidate) {
    void* mpi = dlopen(candidate.path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (mpi == nullptr) return note(candidate, dlerror());
    const Abi& abi = dlsym(mpi, kOpenMpi.symbol) != nullptr ? kOpenMpi : kMpich;
    if (dlsym(mpi, "MPI_Init_thread") == nullptr) return note(candidate, "it is no MPI");
    void* plugin = dlopen(plugin_file(abi).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return note(candidate, dlerror());
    auto* make = reinterpret_cast<MakeLibrary>(dlsym(plugin, kMakeLibrary));
    if (make == nullptr) return note(candidate, dlerror());
    result.library.reset(make());
    Dl_info info{};
    dladdr(dlsym(mpi, "MPI_Init_thread"), &info);
    result.path = info.dli_fname == nullptr ? candidate.path : info.dli_fname;
    return true;
  }

  Loaded result;

 private:
  bool note(const Candidate& candidate, const char* why) {
    result.tried += "\n  " + candidate.path + " (" + candidate.why + "): " + why;
    return false;
  }
};

}  // namespace

Loaded load_library() {
  Loader loader;
  if (const auto file = loaded_already(); !file.empty()) {
    loader.take({.path = file, .why = "loaded already"});
    return std::move(loader.result);
  }
  if (const auto file = variable("MUSTER_MPI_LIBRARY"); !file.empty()) {
    loader.take({.path = file, .why = "MUSTER_MPI_LIBRARY"});
    return std::move(loader.result);
  }
  const auto spoken = launchers_abi();
  for (const Abi& abi : {kOpenMpi, kMpich}) {
    if (spoken && std::string(spoken->name) != abi.name) continue;
    for (const auto& candidate : candidates_of(abi))
      if (loader.take(candidate)) return std::move(loader.result);
  }
  return std::move(loader.result);
}

}  // namespace muster::mpi
