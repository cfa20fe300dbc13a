// The program to run, and the directory in which it starts.
#include <fmt/format.h>

#include "checks/activation_advice.hpp"
#include "checks/copy_fix.hpp"
#include "checks/host_groups.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/software_differences.hpp"
#include "checks/wording.hpp"
#include "facts/program.hpp"
#include "layout/python.hpp"
#include "sys/quote.hpp"

namespace muster::checks {
namespace {

bool is_path(std::string_view word) {
  return word.find('/') != std::string_view::npos;
}

// The program as the user typed it, for commands that run on this machine. The path of the program
// on a host may not exist here.
std::string word_of(const Scene& scene) {
  return scene.job.program.empty() ? std::string() : scene.job.program.front();
}

Finding missing(const Scene& scene, const facts::Program& program, const facts::Facts& facts) {
  const std::string word = word_of(scene);
  const auto path = facts.environment.seen.find("PATH");
  Finding finding{.id = std::string(kProgramMissing),
                  .severity = Severity::kError,
                  .what = fmt::format("{} does not exist on the host", word)};
  if (is_path(word)) {
    const auto& here = scene.launcher.program;
    finding.fix = here && !here->path.empty() ? missing_fix(scene, word) : copy_fix(scene, word);
    return finding;
  }
  if (path != facts.environment.seen.end()) finding.evidence = "PATH is " + path->second;
  if (program.only_in_folder) {
    finding.what = fmt::format("{} is in the current directory but not in PATH", word);
    finding.fix = "give its path: " + sys::quote(std::string_view("./" + word));
  } else {
    finding.fix = fmt::format(
        "install the program on the host, pass its absolute path, or activate the environment that "
        "has it: {}",
        how_to_activate(scene.launcher));
  }
  return finding;
}

Finding lacks_interpreter(const Scene& scene, const facts::Program& program) {
  Finding finding{
      .id = std::string(kProgramMissing),
      .severity = Severity::kError,
      .what = fmt::format("{} cannot start on the host: its interpreter {} is missing",
                          program.path, program.missing_interpreter),
      .fix = fmt::format(
          "install the interpreter on the host, or activate the environment that has it: {}",
          how_to_activate(scene.launcher))};
  if (program.missing_interpreter.ends_with('\r')) {
    finding.what =
        fmt::format("{} cannot start on the host: it has Windows line endings", program.path);
    finding.fix =
        command_on_hosts("sed -i 's/\\r$//' " + sys::quote(std::string_view(program.path)));
  }
  return finding;
}

Finding on_noexec_mount(const facts::Program& program) {
  return {.id = std::string(kProgramMissing),
          .severity = Severity::kError,
          .what = fmt::format("{} cannot start on the host: {} is mounted with noexec",
                              program.path, program.noexec_mount),
          .fix = "put the program on another file system, or let root allow execution there:\n" +
                 command_on_hosts("sudo mount -o remount,exec " +
                                  sys::quote(std::string_view(program.noexec_mount)))};
}

Finding not_executable(const facts::Program& program) {
  return {.id = std::string(kProgramMissing),
          .severity = Severity::kError,
          .what = fmt::format("{} is not executable on the host", program.path),
          .fix = command_on_hosts("chmod +x " + sys::quote(std::string_view(program.path)))};
}

Finding for_another_machine(const facts::Program& program, const facts::Facts& facts) {
  return {.id = std::string(kProgramArchitecture),
          .severity = Severity::kError,
          .what = fmt::format("{} is built for {}, but the host's architecture is {}", program.path,
                              program.architecture, facts.cpu.architecture),
          .fix = fmt::format("build or install the program for {} on the host; a copy from a host "
                             "of another architecture cannot run",
                             facts.cpu.architecture)};
}

Finding torch_for_another_machine(const facts::Program& program, const facts::Facts& facts) {
  return {
      .id = std::string(kProgramArchitecture),
      .severity = Severity::kError,
      .what = fmt::format("the PyTorch in {} is built for {}, but the host's architecture is {}",
                          program.torch_folder, program.torch_architecture, facts.cpu.architecture),
      .fix =
          "hosts of different architectures cannot share one Python environment: create the "
          "environment on this host with pip, do not copy it"};
}

Finding lacks_libraries(const facts::Program& program) {
  return {.id = std::string(kLibraryMissing),
          .severity = Severity::kError,
          .what = fmt::format("{} cannot start on the host: shared libraries are missing",
                              program.path),
          .evidence = listed(program.missing_libraries),
          .fix =
              "install the libraries on the host, or set LD_LIBRARY_PATH with --activate; to see "
              "which are missing:\n" +
              command_on_hosts("ldd " + sys::quote(std::string_view(program.path)))};
}

// Returns at most one finding, because a missing program has no mode and no libraries to report.
std::optional<Finding> trouble(const Scene& scene, const facts::Program& program,
                               const facts::Facts& facts) {
  if (program.path.empty()) return missing(scene, program, facts);
  if (!program.noexec_mount.empty()) return on_noexec_mount(program);
  if (!program.executable) return not_executable(program);
  if (facts::is_for_another_machine(program.architecture, facts.cpu)) {
    return for_another_machine(program, facts);
  }
  if (!program.missing_interpreter.empty()) return lacks_interpreter(scene, program);
  if (!program.missing_libraries.empty()) return lacks_libraries(program);
  if (facts::is_for_another_machine(program.torch_architecture, facts.cpu)) {
    return torch_for_another_machine(program, facts);
  }
  return std::nullopt;
}

}  // namespace

Findings find_program(const Scene& scene) {
  Findings findings;
  HostGroups builds;
  const auto script = layout::python_code(scene.job.program);
  // If the program is the script, find_script compares it.
  const bool is_script = script && script->word == word_of(scene);
  const std::vector<Participant> hosts = participants(scene);
  const auto other_python = hosts_of_other_python(hosts);  // find_software reports these
  for (const Participant& host : hosts) {
    if (!host.facts->program) continue;
    const facts::Program& program = *host.facts->program;
    if (auto finding = trouble(scene, program, *host.facts)) {
      finding->hosts = {host.name()};
      findings.push_back(*std::move(finding));
    }
    const bool is_read = !program.path.empty() && !program.identity.hash.empty();
    if (!is_script && is_read && !other_python.contains(host.name())) {
      builds.add(fmt::format("{} ({} bytes, {})", program.path, program.identity.bytes,
                             program.identity.hash.substr(0, 12)),
                 host.name());
    }
  }
  const std::string usual = builds.usual_hosts();
  for (const HostGroup& group : builds.odd()) {
    findings.push_back(
        {.id = std::string(kProgramDiffers),
         .severity = Severity::kWarning,
         .hosts = group.hosts,
         .what = fmt::format("the program file differs from the one on {}", usual),
         .evidence = fmt::format("{}; on {} {}", group.key, usual, builds.usual().key),
         .fix = copy_fix(scene, word_of(scene))});
  }
  return findings;
}

Findings find_folder(const Scene& scene) {
  const std::string& folder = scene.job.folder;
  // If the job names no directory, or if it is the home directory, the ranks start in the home
  // directory of each host.
  if (scene.job.program.empty() || folder.empty() || folder == scene.launcher.home) return {};
  Findings findings;
  for (const Participant& host : participants(scene)) {
    if (host.facts->folder_exists.value_or(true)) continue;
    findings.push_back(
        {.id = std::string(kFolderMissing),
         .severity = Severity::kWarning,
         .hosts = {host.name()},
         .what = fmt::format("the host does not have the current directory {}: ranks would start "
                             "in the home directory and not find files by relative path",
                             folder),
         .fix =
             fmt::format("add --sync to your command, or copy the directory:\n  muster sync {} {}",
                         kTheHosts, sys::quote(std::string_view(folder)))});
  }
  return findings;
}

}  // namespace muster::checks
