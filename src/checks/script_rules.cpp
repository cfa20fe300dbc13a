// The Python script or module that the program runs, and the modules in the same directory.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "checks/copy_fix.hpp"
#include "checks/host_groups.hpp"
#include "checks/participant.hpp"
#include "checks/rules.hpp"
#include "checks/wording.hpp"
#include "layout/python.hpp"
#include "sys/hash.hpp"
#include "sys/quote.hpp"

namespace muster::checks {
namespace {

using facts::Script;
using layout::PythonCode;

// The path of the code relative to the job's folder, for copy_fix. For a module, only the directory
// of this path is right: the job's folder.
std::string file_of(const PythonCode& code) {
  const bool is_path = !code.is_module && code.word.find('/') != std::string::npos;
  return is_path ? code.word : "./" + code.word;
}

std::string advice(const Scene& scene, const PythonCode& code) {
  return copy_fix(scene, file_of(code));
}

std::string advice_for_missing(const Scene& scene, const PythonCode& code) {
  const auto& here = scene.launcher.script;
  return here && !here->path.empty() ? missing_fix(scene, file_of(code)) : advice(scene, code);
}

// Whether the program itself is the script. If it is missing, find_program reports that.
bool is_the_program(const Scene& scene, const PythonCode& code) {
  return !code.is_module && code.word == scene.job.program.front();
}

bool is_nowhere(const Scene& scene) {
  const auto lacks_it = [](const facts::Facts& facts) {
    return facts.script && facts.script->path.empty();
  };
  const std::vector<Participant> hosts = participants(scene);
  return lacks_it(scene.launcher) &&
         std::all_of(hosts.begin(), hosts.end(),
                     [&](const Participant& host) { return lacks_it(*host.facts); });
}

Finding missing(const Scene& scene, const PythonCode& code, bool nowhere) {
  return {.id = std::string(kProgramMissing),
          .severity = Severity::kError,
          .what = fmt::format("the script {} does not exist on the host", code.word),
          .fix = nowhere ? "correct its name or path; this machine does not have it either"
                         : advice_for_missing(scene, code)};
}

bool is_unreadable(const Script& script) {
  const auto own = script.files.find(std::filesystem::path(script.path).filename());
  return own != script.files.end() && own->second.empty();
}

Finding unreadable(const PythonCode& code, const Script& script) {
  return {.id = std::string(kProgramMissing),
          .severity = Severity::kError,
          .what = fmt::format("the script {} is not readable on the host", code.word),
          .fix = command_on_hosts("chmod u+r " + sys::quote(std::string_view(script.path)))};
}

// Describes the files of the original that differ in the copy or are missing there.
std::vector<std::string> differences(const Script& original, const Script& copy) {
  std::vector<std::string> texts;
  for (const auto& [name, hash] : original.files) {
    const auto found = copy.files.find(name);
    if (found == copy.files.end()) {
      if (copy.complete) texts.push_back(printable(name) + " (missing)");
    } else if (found->second != hash && !found->second.empty() && !hash.empty()) {
      texts.push_back(printable(name));
    }
  }
  return texts;
}

using Copies = std::vector<std::pair<std::string, const Script*>>;  // copies of the script, by host

Findings stale_copies(const Scene& scene, const PythonCode& code, const Script& original,
                      const Copies& copies) {
  Findings findings;
  for (const auto& [host, copy] : copies) {
    const std::vector<std::string> texts = differences(original, *copy);
    if (texts.empty()) continue;
    findings.push_back(
        {.id = std::string(kProgramDiffers),
         .severity = Severity::kWarning,
         .hosts = {host},
         .what = fmt::format("{}, or a module that it imports, differs from this machine's copy",
                             code.word),
         .evidence = listed(texts),
         .fix = advice(scene, code)});
  }
  return findings;
}

std::string content_of(const Script& script) {
  std::string text;
  for (const auto& [name, hash] : script.files) text += name + '\n' + hash + '\n';
  return sys::hash_text(text);
}

// Compares the hosts' copies of the script with each other, because the launcher does not have it.
Findings copies_that_differ(const Scene& scene, const PythonCode& code, const Copies& copies) {
  HostGroups contents;
  std::map<std::string, const Script*> examples;  // one copy for each content
  for (const auto& [host, copy] : copies) {
    const std::string content = content_of(*copy);
    contents.add(content, host);
    examples.emplace(content, copy);
  }
  Findings findings;
  const std::string usual = contents.usual_hosts();
  for (const HostGroup& group : contents.odd()) {
    const Script& original = *examples[contents.usual().key];
    std::vector<std::string> texts = differences(original, *examples[group.key]);
    for (const auto& [name, hash] : examples[group.key]->files) {
      if (!original.files.contains(name)) texts.push_back(printable(name) + " (only on this host)");
    }
    if (texts.empty()) continue;  // only unreadable files differ
    findings.push_back(
        {.id = std::string(kProgramDiffers),
         .severity = Severity::kWarning,
         .hosts = group.hosts,
         .what = fmt::format("the copy of {} differs from the one on {}", code.word, usual),
         .evidence = listed(texts),
         .fix = advice(scene, code)});
  }
  return findings;
}

}  // namespace

Findings find_script(const Scene& scene) {
  const auto code = layout::python_code(scene.job.program);
  if (!code) return {};
  const bool nowhere = is_nowhere(scene);
  Findings findings;
  Copies copies;
  for (const Participant& host : participants(scene)) {
    if (!host.facts->script) continue;
    const Script& script = *host.facts->script;
    if (script.path.empty()) {
      // A module that is not below the job's folder may be installed elsewhere.
      if (code->is_module) copies.emplace_back(host.name(), &script);
      if (code->is_module || is_the_program(scene, *code)) continue;
      findings.push_back(missing(scene, *code, nowhere));
    } else if (is_unreadable(script)) {
      findings.push_back(unreadable(*code, script));
    } else {
      copies.emplace_back(host.name(), &script);
      continue;
    }
    findings.back().hosts = {host.name()};
  }
  const auto& here = scene.launcher.script;
  Findings odd = here && !here->files.empty() ? stale_copies(scene, *code, *here, copies)
                                              : copies_that_differ(scene, *code, copies);
  std::move(odd.begin(), odd.end(), std::back_inserter(findings));
  return findings;
}

}  // namespace muster::checks
