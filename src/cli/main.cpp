// muster's main function, and the only table that turns errors into exit codes.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <linux/close_range.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/agent.hpp"
#include "agent/host_engine.hpp"
#include "agent/rank.hpp"
#include "base/exit_code.hpp"
#include "cli/command.hpp"
#include "cli/completion_command.hpp"
#include "cli/flag_words.hpp"
#include "cli/habits.hpp"
#include "cli/reference.hpp"
#include "cli/usage.hpp"
#include "run/keeper.hpp"
#include "setup/askpass.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

// Overwrites what follows the first '=' of NAME=value.
void hide_value(char* given) {
  char* equals = std::strchr(given, '=');
  if (equals != nullptr) std::memset(equals + 1, '*', std::strlen(equals + 1));
}

// Whether the flag takes a list of variables, as srun's --export=NAME=value and mpiexec's -envlist
// do. It may have one or two dashes.
bool is_list_of_variables(std::string_view flag) {
  if (!flag.starts_with('-')) return false;
  flag.remove_prefix(flag.starts_with("--") ? 2 : 1);
  return flag == "export" || flag == "envlist" || flag == "genvlist";
}

// Hides values such as that of -x NAME=value in argv, because all users can see the arguments of a
// process and the value may be secret.
void hide_values(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    const bool has_next = i + 1 < argc;
    if (const auto at = find_secret(word)) {
      if (*at < word.size()) hide_value(argv[i] + *at);
      if (*at == word.size() && has_next) hide_value(argv[i + 1]);
    } else if (is_list_of_variables(word.substr(0, word.find('=')))) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) hide_value(argv[i] + equals + 1);
      if (equals == std::string::npos && has_next) hide_value(argv[i + 1]);
    }
  }
}

Flags flags_of(const CLI::App& app, const std::string& name) {
  Flags flags;
  for (const CLI::App* command :
       app.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; })) {
    for (const CLI::Option* option : command->get_options()) {
      const bool has_value = option->get_items_expected_max() > 0;
      for (const std::string& one : option->get_snames()) flags["-" + one] = has_value;
      for (const std::string& one : option->get_lnames()) flags["--" + one] = has_value;
    }
  }
  return flags;
}

// The function that reads the line of a command. Lines of other commands are split at "--".
struct Reader {
  std::string_view command;
  ReadLine* read;
};
constexpr std::array kReaders = {
    Reader{"run", in_own_words},      Reader{"check", in_own_words},
    Reader{"submit", in_own_words},   Reader{"config", in_own_words},
    Reader{"train", read_train_line}, Reader{"bench", read_bench_line},
    Reader{"exec", read_exec_line},
};

// Splits the line into muster's words, translated if they belong to another launcher, and the
// program.
Result<Line> split(const Words& words, const CLI::App& app) {
  for (const Reader& reader : kReaders) {
    if (!words.empty() && words.front() == reader.command) {
      return reader.read(words, flags_of(app, words.front()));
    }
  }
  return split_at_dashes(words);
}

int report(const Error& error) {
  sys::print_err("muster: {}\n", to_text(error));
  return exit_code(error.code);
}

// If the command failed, its exit code matters more than lost output.
int output_checked(int code) {
  errno = sys::output_error();
  if (errno == 0) return code;
  const int lost = errno == EPIPE ? 128 + SIGPIPE  // silently, as a death by SIGPIPE would be
                                  : report(system_error("cannot write to standard output"));
  return code == 0 ? lost : code;
}

void describe(CLI::App& app) {
  app.name("muster");
  app.description("muster checks your machines, then launches your PyTorch job on all of them.");
  app.formatter(help_formatter());
  app.set_help_flag("-h,--help", "Show this help");
  app.set_version_flag("--version", "muster " MUSTER_VERSION, "Show the version");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  muster run -n 2 train.py --epochs 3             # on this machine\n"
      "  muster setup -H node1,node2                     # once\n"
      "  muster run -H node1,node2 train.py --epochs 3   # on both\n"
      "  muster run --help                               # a command's flags");
}

int run(int argc, char** argv) {
  CLI::App app;
  describe(app);
  Action action;
  Line line;
  const Words words(argv + 1, argv + argc);
  hide_values(argc, argv);
  // In the order of --help.
  add_setup(app, action);
  add_check(app, action, line.program);
  add_run(app, action, line.words, line.program);
  add_runs(app, action);
  add_explain(app, action);
  add_exec(app, action, line.program);
  add_sync(app, action);
  add_hosts(app, action);
  add_config(app, action, line.program);
  add_facts(app, action);
  add_bench(app, action, line.words, line.program);
  add_train(app, action, line.program);
  add_submit(app, action, line.words, line.program);
  add_emit(app, action, line.program);
  add_lab(app, action, line.program);
  add_completion(app, action);
  add_man(app, action);
  for (const char* first : {"setup", "check", "run", "logs"}) {
    app.get_subcommand(first)->group("Start here");
  }
  if (words == Words{"complete"}) return answer_completion(app);
  if (words == Words{"reference"}) {  // for tools/write_reference
    sys::write_out(reference_json(app));
    return 0;
  }
  auto split_line = split(words, app);
  if (!split_line) return report(split_line.error());
  line = *std::move(split_line);
  try {
    app.parse(std::vector<std::string>(line.words.rbegin(), line.words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return report(usage_error(app, line.words, error));
    std::ostringstream out;  // the help or the version
    (void)app.exit(error, out, out);
    sys::write_out(out.str());
    return 0;
  }
  const Result<int> code = action();
  if (code) return *code;
  return report(code.error());
}

}  // namespace
}  // namespace muster::cli

namespace {

// The sessions need three descriptors per host, and the usual limit is 1024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): only running out of memory is left to throw
int main(int argc, char** argv) {
  // These must come first: a rank's program must get its signals as the engine set them.
  if (const auto code = muster::agent::engine_main(argc, argv)) return *code;
  if (const auto code = muster::agent::rank_main(argc, argv)) return *code;
  if (const auto code = muster::agent::agent_main(argc, argv)) return *code;
  if (const auto code = muster::run::keeper_main(argc, argv)) return *code;
  muster::sys::hold_standard_streams();
  (void)std::signal(SIGPIPE, SIG_IGN);  // a run continues when its reader has gone
  if (const auto code = muster::setup::askpass_main(argc, argv)) return *code;
  const bool tells_the_limit = argc > 1 && std::string_view(argv[1]) == "facts";
  if (!tells_the_limit) raise_descriptor_limit();
  // Processes that muster starts may outlive it (shared connections do), and must not keep the
  // caller's files open.
  (void)::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  return muster::cli::output_checked(muster::cli::run(argc, argv));
}
