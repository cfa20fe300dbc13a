#include "facts/program.hpp"

#include <climits>
#include <cstdlib>
#include <filesystem>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "facts/elf.hpp"
#include "facts/interpreter.hpp"
#include "facts/libraries.hpp"
#include "facts/mapped_file.hpp"
#include "facts/mpi_identity.hpp"
#include "facts/pytorch.hpp"
#include "sys/path_search.hpp"

namespace muster::facts {
namespace {

constexpr const char* kDefaultPath = "/bin:/usr/bin";  // what execvp uses without PATH

bool is_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_noexec(const std::filesystem::path& path) {
  struct statvfs status{};
  return ::statvfs(path.c_str(), &status) == 0 && (status.f_flag & ST_NOEXEC) != 0;
}

// The topmost directory above the file that is still mounted with noexec.
std::string noexec_mount(const std::string& path) {
  char real[PATH_MAX];
  if (!is_noexec(path) || ::realpath(path.c_str(), real) == nullptr) return {};
  std::filesystem::path mount = std::filesystem::path(real).parent_path();
  while (mount != "/" && is_noexec(mount.parent_path())) mount = mount.parent_path();
  return mount.string();
}

void add_libraries(const Libraries& libraries, Program& program) {
  program.missing_libraries = libraries.missing;
  if (libraries.libmpi.empty()) return;
  const MpiIdentity identity = identify_mpi_file(libraries.libmpi);
  program.libmpi = identity_of(libraries.libmpi);
  program.libmpi_kind = identity.kind;
  program.libmpi_version = identity.version;
}

// Accepts "python3.11", but not "python_train.sh". Strict, because the caller starts the program.
bool is_python(std::string_view path) {
  constexpr std::string_view kName = "python";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with(kName) &&
         name.substr(kName.size()).find_first_not_of("0123456789.") == std::string_view::npos;
}

void add_python(const std::string& python, const Variables& environment,
                std::chrono::milliseconds deadline, FoundProgram& found,
                std::vector<NotSeen>& not_seen) {
  if (!is_python(python)) return;
  auto answer = ask_python(python, environment, deadline);
  if (!answer) {
    not_seen.push_back({.what = "program.torch", .why = to_text(answer.error())});
    return;
  }
  const std::string& folder = answer->torch_folder;
  found.program.torch_folder = folder;
  if (!folder.empty()) {
    found.program.torch = torch_version_in(folder);
    if (const auto file = MappedFile::open(folder + "/lib/libtorch_cpu.so")) {
      found.program.torch_architecture = elf_architecture(file->bytes());
    }
  }
  found.python = *std::move(answer);
}

}  // namespace

std::string find_program_file(const std::string& name, const std::string& folder,
                              const std::string& path) {
  if (name.find('/') == std::string::npos) return sys::find_in_path(name, path, folder);
  std::string candidate = name.starts_with('/') ? name : folder + "/" + name;
  return is_file(candidate) ? candidate : "";
}

bool is_for_another_machine(const std::string& architecture, const Cpu& cpu) {
  return !architecture.empty() && !cpu.architecture.empty() && architecture != cpu.architecture;
}

FoundProgram read_program(const std::string& name, const std::string& folder,
                          const Variables& environment, std::chrono::milliseconds deadline,
                          std::vector<NotSeen>& not_seen) {
  FoundProgram found{.program = {.name = name}};
  Program& program = found.program;
  const auto variable = environment.find("PATH");
  const std::string path = variable == environment.end() ? kDefaultPath : variable->second;
  program.path = find_program_file(name, folder, path);
  if (program.path.empty()) {
    program.only_in_folder =
        !name.empty() && name.find('/') == std::string::npos && is_file(folder + "/" + name);
    return found;
  }
  program.executable = ::access(program.path.c_str(), X_OK) == 0;
  if (!program.executable) program.noexec_mount = noexec_mount(program.path);
  program.identity = identity_of(program.path);
  std::string interpreter;
  if (const auto file = MappedFile::open(program.path)) {
    program.architecture = elf_architecture(file->bytes());
    program.missing_interpreter = missing_interpreter(file->bytes(), folder, path);
    interpreter = script_interpreter(file->bytes(), folder, path);
  }
  // The loader would fail too, with a less helpful message.
  if (!program.missing_interpreter.empty() || !program.noexec_mount.empty()) return found;
  const auto libraries = read_libraries(program.path, environment, deadline);
  if (libraries) {
    add_libraries(*libraries, program);
  } else {
    not_seen.push_back({.what = "program.libraries", .why = to_text(libraries.error())});
  }
  add_python(is_python(program.path) ? program.path : interpreter, environment, deadline, found,
             not_seen);
  return found;
}

}  // namespace muster::facts
