// The only place that ends the process, from the one table below.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace muster::cli {
namespace {

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

// People write --nproc_per_node and --nproc-per-node; both mean one flag. What stands after "--"
// is another program's.
std::vector<std::string> with_dashes(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::string& word : words) {
    if (word == "--") break;
    if (word.rfind("--", 0) != 0) continue;
    for (char& c : word) {
      if (c == '=') break;
      if (c == '_') c = '-';
    }
  }
  return words;
}

int run(int argc, char** argv) {
  CLI::App app("muster takes a list of hosts to a checked, running, distributed PyTorch job.");
  app.name("muster");
  app.set_version_flag("--version", "muster " MUSTER_VERSION);
  app.require_subcommand(1);
  Action action;
  add_exec(app, action);
  add_hosts(app, action);
  add_lab(app, action);
  try {
    std::vector<std::string> words = with_dashes(argc, argv);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
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

int main(int argc, char** argv) {
  (void)std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error to report, not a death
  return muster::cli::run(argc, argv);
}
