// The program that is to run.
#include <fmt/format.h>

#include "checks/failure_id.hpp"
#include "checks/host_groups.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "sys/quote.hpp"

namespace muster::checks {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? path : path.substr(0, slash);
}

std::string copy_fix(const std::string& path) {
  return fmt::format("copy its folder there; where the right one is:\n  muster sync {} {}",
                     kTheHosts, sys::quote(std::string_view(folder_of(path))));
}

Finding missing(const facts::Program& program, const facts::Facts& facts) {
  const bool is_path = program.name.find('/') != std::string::npos;
  const auto path = facts.environment.seen.find("PATH");
  return {.id = std::string(kProgramMissing),
          .severity = Severity::kError,
          .what = fmt::format("{} is not there", program.name),
          .evidence = is_path || path == facts.environment.seen.end() ? std::string()
                                                                      : "PATH is " + path->second,
          .fix = is_path ? copy_fix(program.name)
                         : "install it there, or give its absolute path, or activate the "
                           "environment that holds it"};
}

Finding not_executable(const facts::Program& program) {
  return {.id = std::string(kProgramMissing),
          .severity = Severity::kError,
          .what = fmt::format("{} may not be executed there", program.path),
          .fix = command_on_hosts("chmod +x " + sys::quote(std::string_view(program.path)))};
}

Finding lacks_libraries(const facts::Program& program) {
  return {.id = std::string(kLibraryMissing),
          .severity = Severity::kError,
          .what = fmt::format("{} cannot start there: libraries are missing", program.path),
          .evidence = listed(program.missing_libraries),
          .fix = "install them there, or set LD_LIBRARY_PATH by activation; to look:\n" +
                 command_on_hosts("ldd " + sys::quote(std::string_view(program.path)))};
}

// At most one: what is missing has no mode and no libraries.
std::optional<Finding> trouble(const facts::Program& program, const facts::Facts& facts) {
  if (program.path.empty()) return missing(program, facts);
  if (!program.executable) return not_executable(program);
  if (!program.missing_libraries.empty()) return lacks_libraries(program);
  return std::nullopt;
}

}  // namespace

Findings find_program(const Scene& scene) {
  Findings findings;
  HostGroups builds;
  for (const Participant& host : participants(scene)) {
    if (!host.facts->program) continue;
    const facts::Program& program = *host.facts->program;
    if (auto finding = trouble(program, *host.facts)) {
      finding->hosts = {host.name()};
      findings.push_back(*std::move(finding));
    }
    if (!program.path.empty() && !program.identity.hash.empty()) {
      builds.add(fmt::format("{} ({} bytes, {})", program.path, program.identity.bytes,
                             program.identity.hash.substr(0, 12)),
                 host.name());
    }
  }
  const std::string usual = builds.usual_hosts();
  for (const HostGroup& group : builds.odd()) {
    const std::string path = group.key.substr(0, group.key.rfind(" ("));
    findings.push_back(
        {.id = std::string(kProgramDiffers),
         .severity = Severity::kWarning,
         .hosts = group.hosts,
         .what = fmt::format("the program is not the same as on {}", usual),
         .evidence = fmt::format("{}; on {} {}", group.key, usual, builds.usual().key),
         .fix = copy_fix(path)});
  }
  return findings;
}

}  // namespace muster::checks
