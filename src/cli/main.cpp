// The only place that ends the process, from the one table below.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <linux/close_range.h>
#include <unistd.h>

#include "agent/agent.hpp"
#include "agent/host_engine.hpp"
#include "agent/rank.hpp"
#include "cli/command.hpp"
#include "run/keeper.hpp"
#include "setup/askpass.hpp"

namespace muster::cli {
int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return 2;
    case ErrorCode::kFindings:
      return 3;
    case ErrorCode::kUnreachable:
      return 4;
    case ErrorCode::kEngineMissing:
      return 5;
    case ErrorCode::kTimeout:
      return 124;
    case ErrorCode::kSystem:
      return 125;
  }
  return 125;
}

namespace {

struct Line {
  std::vector<std::string> words;    // for muster
  std::vector<std::string> program;  // what stands after "--": another program's words, untouched
};

// People write --nproc_per_node and --nproc-per-node; both mean one flag.
Line split(int argc, char** argv) {
  Line line{.words = std::vector<std::string>(argv + 1, argv + argc), .program = {}};
  const auto dashes = std::find(line.words.begin(), line.words.end(), "--");
  if (dashes != line.words.end()) line.program.assign(dashes + 1, line.words.end());
  line.words.erase(dashes, line.words.end());
  for (std::string& word : line.words) {
    if (word == "-np") word = "--np";  // as mpirun has it
    if (word.rfind("--", 0) != 0) continue;
    std::replace(word.begin(), std::find(word.begin(), word.end(), '='), '_', '-');
  }
  return line;
}

// The value of -x NAME=value may be a secret; what is in argv, everybody can see.
void hide_values(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    const bool is_flag = word == "-x" || word == "--env";
    char* given = nullptr;
    if (is_flag && i + 1 < argc) given = argv[i + 1];
    if (word.starts_with("--env=")) given = argv[i] + 6;
    char* value = given == nullptr ? nullptr : std::strchr(given, '=');
    if (value != nullptr) std::memset(value + 1, '*', std::strlen(value + 1));
  }
}

int run(int argc, char** argv) {
  CLI::App app("muster takes a list of hosts to a checked, running, distributed PyTorch job.");
  app.name("muster");
  app.set_version_flag("--version", "muster " MUSTER_VERSION);
  app.require_subcommand(1);
  Action action;
  const Line line = split(argc, argv);
  hide_values(argc, argv);
  add_lab(app, action, line.program);
  add_hosts(app, action);
  add_setup(app, action);
  add_exec(app, action, line.program);
  add_sync(app, action);
  add_facts(app, action);
  add_check(app, action, line.program);
  add_run(app, action, line.words, line.program);
  add_submit(app, action, line.words, line.program);
  add_runs(app, action);
  try {
    app.parse(std::vector<std::string>(line.words.rbegin(), line.words.rend()));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_code(ErrorCode::kUsage);
  }
  const Result<int> code = action();
  if (code) return *code;
  std::fprintf(stderr, "muster: %s\n", to_text(code.error()).c_str());
  return exit_code(code.error().code);
}

}  // namespace
}  // namespace muster::cli

// NOLINTNEXTLINE(bugprone-exception-escape): only running out of memory is left to throw
int main(int argc, char** argv) {
  // Before anything else: a rank's program gets its signals as the engine left them.
  if (const auto code = muster::agent::engine_main(argc, argv)) return *code;
  if (const auto code = muster::agent::rank_main(argc, argv)) return *code;
  if (const auto code = muster::agent::agent_main(argc, argv)) return *code;
  if (const auto code = muster::run::keeper_main(argc, argv)) return *code;
  (void)std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error to report, not a death
  if (const auto code = muster::setup::askpass_main(argc, argv)) return *code;
  // What muster starts may outlive it (shared connections do) and must not hold the caller's files.
  (void)::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  return muster::cli::run(argc, argv);
}
