#include "facts/opened_libraries.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "facts/pseudo_file.hpp"
#include "sys/path_search.hpp"

namespace muster::facts {
namespace {

constexpr std::size_t kMostPlugins = 128;

// A folder with plugins of a library. Links in the library's path are resolved first.
struct PluginFolder {
  std::string_view library;  // beginning of the library's name
  std::string_view folder;   // relative to the library's folder
  std::string_view plugin;   // beginning of the plugins' names
};

constexpr std::array kPluginFolders = {
    PluginFolder{"libmpi.so", "/openmpi", "mca_btl_"},
    PluginFolder{"libmpi.so", "/openmpi", "mca_mtl_"},
    PluginFolder{"libmpi.so", "/openmpi", "mca_pml_"},
    PluginFolder{"libmpi.so", "/openmpi3", "mca_btl_"},  // on Debian
    PluginFolder{"libmpi.so", "/openmpi3", "mca_mtl_"},
    PluginFolder{"libmpi.so", "/openmpi3", "mca_pml_"},
    PluginFolder{"libmpi.so", "", "libfabric.so."},  // opened by Intel MPI by its name
    PluginFolder{"libucs.so", "/ucx", "libuc"},
    PluginFolder{"libfabric.so", "/libfabric", "lib"},
    PluginFolder{"libfabric.so", "/prov", "lib"},
    PluginFolder{"libcudnn.so", "", "libcudnn_"},
    PluginFolder{"libnccl.so", "", "libnccl-net"}};

// NCCL may also be a part of libtorch_cuda.
bool may_use_nccl(const LoadedLibrary& library) {
  return library.name.starts_with("libnccl.so") || library.name.starts_with("libtorch_cuda");
}

class Plugins {
 public:
  void add(const std::string& folder, std::string_view begins) {
    for (const std::string& name : names_in(folder)) {
      const bool is_library = name.ends_with(".so") || name.find(".so.") != std::string::npos;
      if (name.starts_with(begins) && is_library) add_file(folder + "/" + name);
    }
  }

  [[nodiscard]] std::vector<std::string> take() { return std::move(paths_); }

 private:
  // Adds a plugin only once, even if several links lead to it.
  void add_file(const std::string& path) {
    std::error_code failed;
    const std::string real = std::filesystem::canonical(path, failed);
    if (failed || paths_.size() >= kMostPlugins) return;
    if (std::find(real_.begin(), real_.end(), real) != real_.end()) return;
    real_.push_back(real);
    paths_.push_back(path);
  }

  std::vector<std::string> real_;
  std::vector<std::string> paths_;
};

void add_plugins_of_nccl(const Variables& environment, Plugins& plugins) {
  const auto variable = environment.find("LD_LIBRARY_PATH");
  if (variable != environment.end()) {
    for (const std::string& folder : sys::path_folders(variable->second)) {
      plugins.add(folder, "libnccl-");
    }
  }
  plugins.add("/opt/amazon/ofi-nccl/lib", "libnccl-");
}

}  // namespace

std::vector<std::string> opened_by_torch(const std::string& torch_folder) {
  std::vector<std::string> paths;
  if (torch_folder.empty()) return paths;
  for (const std::string& name : names_in(torch_folder)) {
    if (name.starts_with("_C.") && name.ends_with(".so")) {
      paths.push_back(torch_folder + "/" + name);
    }
  }
  std::error_code failed;
  const std::string global = torch_folder + "/lib/libtorch_global_deps.so";
  if (std::filesystem::exists(global, failed)) paths.insert(paths.begin(), global);
  return paths;
}

std::vector<std::string> plugins_of(std::span<const LoadedLibrary> loaded,
                                    const Variables& environment) {
  Plugins plugins;
  for (const LoadedLibrary& library : loaded) {
    for (const PluginFolder& one : kPluginFolders) {
      if (!library.name.starts_with(one.library)) continue;
      std::error_code failed;
      const auto real = std::filesystem::canonical(library.path, failed);
      if (failed) continue;
      plugins.add(real.parent_path().string() + std::string(one.folder), one.plugin);
    }
  }
  if (std::any_of(loaded.begin(), loaded.end(), may_use_nccl)) {
    add_plugins_of_nccl(environment, plugins);
  }
  return plugins.take();
}

}  // namespace muster::facts
