#include "facts/program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "facts/libraries.hpp"
#include "facts/mpi_identity.hpp"

namespace muster::facts {
namespace {

bool is_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

void add_libraries(const Libraries& libraries, Program& program) {
  program.missing_libraries = libraries.missing;
  if (libraries.libmpi.empty()) return;
  const MpiIdentity identity = identify_mpi_file(libraries.libmpi);
  program.libmpi = identity_of(libraries.libmpi);
  program.libmpi_kind = identity.kind;
  program.libmpi_version = identity.version;
}

}  // namespace

std::string find_program_file(const std::string& name, const std::string& folder,
                              const std::string& path) {
  const bool is_path = name.find('/') != std::string::npos;
  if (!is_path) {
    if (std::string found = find_in_path(name, path); !found.empty()) return found;
  }
  const std::string candidate = name.starts_with('/') ? name : folder + "/" + name;
  return is_file(candidate) ? candidate : "";
}

Program read_program(const std::string& name, const std::string& folder,
                     const Variables& environment, std::vector<NotSeen>& not_seen) {
  Program program{.name = name};
  const auto path = environment.find("PATH");
  program.path = find_program_file(name, folder, path == environment.end() ? "" : path->second);
  if (program.path.empty()) return program;
  program.executable = ::access(program.path.c_str(), X_OK) == 0;
  program.identity = identity_of(program.path);
  const auto libraries = read_libraries(program.path, environment);
  if (libraries) {
    add_libraries(*libraries, program);
  } else {
    not_seen.push_back({.what = "program.libraries", .why = to_text(libraries.error())});
  }
  return program;
}

}  // namespace muster::facts
