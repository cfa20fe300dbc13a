#include "facts/libraries.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "facts/elf.hpp"
#include "facts/mapped_file.hpp"
#include "facts/pseudo_file.hpp"
#include "sys/process.hpp"

namespace muster::facts {
namespace {

bool is_libmpi(std::string_view name) {
  for (const std::string_view start : {"libmpi.so", "libmpich.so", "libmpi_abi.so"}) {
    if (name.starts_with(start)) return true;
  }
  return false;
}

// Parses musl's message "Error loading shared library libx.so: No such file ... (needed by ./m)".
std::string musl_missing(std::string_view line) {
  constexpr std::string_view kStart = "Error loading shared library ";
  if (!line.starts_with(kStart)) return {};
  line.remove_prefix(kStart.size());
  return std::string(line.substr(0, line.find(':')));
}

// Returns a value for every variable that affects a loader. A variable that is missing here would
// keep our own value, even if the activation unset it.
std::vector<std::string> loader_environment(const Variables& environment,
                                            std::span<const std::string> opened) {
  const auto value = [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  // `opened` libraries are added as preloaded ones, because the loader searches for these as dlopen
  // does: the program's RPATH applies to their dependencies, and libraries that are loaded already
  // are not loaded again.
  std::string preloaded = value("LD_PRELOAD");
  for (const std::string& path : opened) {
    if (path.find_first_of(" :") == std::string::npos) preloaded += ":" + path;
  }
  return {"LD_TRACE_LOADED_OBJECTS=1",
          "LD_WARN=", "LD_BIND_NOW=", "LD_LIBRARY_PATH=" + value("LD_LIBRARY_PATH"),
          "LD_PRELOAD=" + preloaded};
}

bool is_loader(std::string_view name) {
  return name.starts_with("ld-");
}

// Parses "\t/lib/libx.so (0x7f)", a library that is requested by its path.
void add_given_by_path(std::string_view line, Libraries& libraries) {
  const std::string_view path = trimmed(line.substr(0, line.rfind(" (0x")));
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!path.starts_with('/') || line.rfind(" (0x") == std::string_view::npos) return;
  if (!is_loader(name)) libraries.loaded.push_back({std::string(name), std::string(path)});
}

}  // namespace

Libraries parse_loaded(std::string_view text) {
  Libraries libraries;
  for (const std::string_view line : split(text, '\n')) {
    if (std::string missing = musl_missing(line); !missing.empty()) {
      libraries.missing.push_back(std::move(missing));
    }
    const std::size_t arrow = line.find(" => ");
    if (arrow == std::string_view::npos) {
      add_given_by_path(line, libraries);
      continue;
    }
    const std::string_view name = trimmed(line.substr(0, arrow));
    std::string_view target = trimmed(line.substr(arrow + 4));
    if (target == "not found") {
      libraries.missing.emplace_back(name);
      continue;
    }
    target = trimmed(target.substr(0, target.rfind(" (0x")));
    if (libraries.libmpi.empty() && is_libmpi(name)) libraries.libmpi = target;
    if (target.starts_with('/') && !is_loader(name)) {
      libraries.loaded.push_back({std::string(name), std::string(target)});
    }
  }
  return libraries;
}

Result<Libraries> read_libraries(const std::string& program, const Variables& environment,
                                 std::chrono::milliseconds deadline,
                                 std::span<const std::string> opened) {
  const auto file = MappedFile::open(program);
  if (!file) return unexpected(Error{.what = "cannot read the file", .where = {.file = program}});
  const auto loader = elf_interpreter(file->bytes());
  if (!loader) return Libraries{};
  // musl's loader needs --list, because it ignores the environment variable and would start the
  // program. glibc's loader only gets the variable, because with --list it stops at the first
  // missing library.
  const bool is_musl = loader->find("ld-musl") != std::string::npos;
  // $ORIGIN must be the folder of the file itself, not of a link to it.
  std::error_code unknown;
  const auto itself = std::filesystem::canonical(program, unknown);
  std::vector<std::string> argv = {*loader, unknown ? program : itself.string()};
  if (is_musl) argv.insert(argv.begin() + 1, "--list");
  MUSTER_TRY(const sys::Ended ended, sys::run({.argv = argv,
                                               .env = loader_environment(environment, opened),
                                               .deadline = deadline}));
  Libraries libraries = parse_loaded(is_musl ? ended.out + "\n" + ended.err : ended.out);
  if (ended.ok() || !libraries.missing.empty()) return libraries;
  const std::string said = printable(ended.err.substr(0, 200));
  return unexpected(Error{.what = fmt::format("{}: {} {}", *loader, to_text(ended), said)});
}

}  // namespace muster::facts
