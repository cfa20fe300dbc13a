#include "facts/software.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <sys/stat.h>

#include "facts/elf.hpp"
#include "facts/libraries.hpp"
#include "facts/mapped_file.hpp"
#include "facts/opened_libraries.hpp"
#include "facts/packages.hpp"

namespace muster::facts {
namespace {

// Returns the file whose libraries count: the program or, if that is a wrapper around Python, the
// real interpreter.
std::string loaded_program(const FoundProgram& found) {
  if (found.python && !found.python->executable.empty()) return found.python->executable;
  return found.program.path;
}

bool is_elf_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  return file && is_elf(file->bytes());
}

Library described(const LoadedLibrary& loaded) {
  Library library{.name = loaded.name, .path = loaded.path};
  struct stat status{};
  if (::stat(loaded.path.c_str(), &status) == 0) {
    library.bytes = static_cast<std::uint64_t>(status.st_size);
  }
  if (const auto file = MappedFile::open(loaded.path)) {
    library.build_id = elf_build_id(file->bytes());
  }
  library.remote = is_remote_file(loaded.path);
  return library;
}

void take_loaded(const Libraries& loaded, Software& software) {
  std::set<std::string> names;
  for (const LoadedLibrary& one : loaded.loaded) {
    if (!names.insert(one.name).second) continue;
    if (names.size() > kMostLibraries) {
      software.all_libraries = false;
      break;
    }
    software.libraries.push_back(described(one));
  }
  for (const std::string& name : loaded.missing) {
    if (names.size() >= kMostLibraries) software.all_libraries = false;
    if (names.size() < kMostLibraries && names.insert(name).second) {
      software.libraries.push_back({.name = name});
    }
  }
}

// Hashes small libraries first, so that most hashes are known soon. A large one may take several
// checks.
void add_hashes(HashCache& hashes, std::vector<Library>& libraries) {
  std::sort(libraries.begin(), libraries.end(), [](const Library& one, const Library& two) {
    return std::tie(one.bytes, one.name) < std::tie(two.bytes, two.name);
  });
  for (Library& library : libraries) {
    if (!library.path.empty() && !library.remote) library.hash = hashes.hash_of(library.path);
  }
  std::sort(libraries.begin(), libraries.end(),
            [](const Library& one, const Library& two) { return one.name < two.name; });
}

// Adds the plugins. Those that cannot be loaded do not count as missing.
Result<void> add_plugins(const std::string& program, const Variables& environment,
                         std::chrono::milliseconds deadline, std::vector<std::string> opened,
                         Libraries& loaded) {
  const std::vector<std::string> plugins = plugins_of(loaded.loaded, environment);
  if (plugins.empty()) return {};
  opened.insert(opened.end(), plugins.begin(), plugins.end());
  MUSTER_TRY(Libraries with_plugins, read_libraries(program, environment, deadline, opened));
  with_plugins.missing = std::move(loaded.missing);
  loaded = std::move(with_plugins);
  return {};
}

}  // namespace

Software read_software(const FoundProgram& found, const Variables& environment,
                       std::chrono::milliseconds deadline, HashCache& hashes,
                       std::vector<NotSeen>& not_seen) {
  Software software;
  if (found.python) {
    software.python = found.python->version;
    Packages packages = read_packages(found.python->sys_path);
    software.packages = std::move(packages.versions);
    software.system_packages = std::move(packages.of_the_system);
    software.all_packages = packages.complete;
  }
  const std::string program = loaded_program(found);
  if (!is_elf_file(program)) return software;
  const std::vector<std::string> opened = opened_by_torch(found.program.torch_folder);
  auto loaded = read_libraries(program, environment, deadline, opened);
  if (!loaded) {
    not_seen.push_back({.what = "software.libraries", .why = to_text(loaded.error())});
    return software;
  }
  if (auto added = add_plugins(program, environment, deadline, opened, *loaded); !added) {
    not_seen.push_back({.what = "software.plugins", .why = to_text(added.error())});
    software.all_libraries = false;
  }
  take_loaded(*loaded, software);
  add_hashes(hashes, software.libraries);
  return software;
}

}  // namespace muster::facts
