#include "agent/host_engine.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "agent/rank_environment.hpp"
#include "agent/run_files.hpp"
#include "agent/work_folder.hpp"
#include "base/environment.hpp"
#include "base/exit_code.hpp"

namespace muster::agent {
namespace {

Result<Environment> engines_environment(const RunFiles& files) {
  MUSTER_TRY(HandedOut handed, files.handout());
  if (handed.activated) return lay_over(*std::move(handed.activated), handed.variables, {});
  Environment environment = own_environment();
  for (const auto& [name, value] : handed.variables) environment.insert_or_assign(name, value);
  return environment;
}

// Replaces this process with the engine. Returns only if that fails, with an exit code.
int become(const std::vector<std::string>& argv, const Environment& environment) {
  (void)::clearenv();
  for (const auto& [name, value] : environment) {
    (void)::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  (void)::execvp(words[0], words.data());
  const int error = errno;
  std::fprintf(stderr, "muster: cannot run '%s': %s\n", words[0],
               std::generic_category().message(error).c_str());
  return exit_code_of_exec(error);
}

int start(const std::string& run_id, const std::string& folder,
          const std::vector<std::string>& argv) {
  const auto files = RunFiles::open(run_id);
  auto environment = files ? engines_environment(*files) : unexpected(files.error());
  if (!environment) {
    std::fprintf(stderr, "muster engine: %s\n", to_text(environment.error()).c_str());
    return kExitOwnFault;
  }
  if (files->over()) return kExitOwnFault;
  environment->insert_or_assign("MUSTER_RUN_ID", run_id);
  go_to(folder, *environment);
  return become(argv, *environment);
}

}  // namespace

std::optional<int> engine_main(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "engine") return std::nullopt;
  const std::vector<std::string> words(argv + 2, argv + argc);
  if (words.size() < 6 || words[0] != "--run" || words[2] != "--folder" || words[4] != "--") {
    std::fprintf(
        stderr,
        "muster engine: muster starts this on the hosts; it is not meant to be called by hand\n");
    return kUsageCode;
  }
  return start(words[1], words[3], {words.begin() + 5, words.end()});
}

}  // namespace muster::agent
