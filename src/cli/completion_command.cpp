#include "cli/completion_command.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include <unistd.h>

#include "cli/cluster_options.hpp"
#include "cli/command.hpp"
#include "cli/completion.hpp"
#include "cli/config_file.hpp"
#include "cli/kept_command.hpp"
#include "run/about.hpp"
#include "run/folder.hpp"
#include "run/past_run.hpp"
#include "sys/print.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

constexpr std::size_t kLineBytes = std::size_t{1} << 20;  // longest line to complete
constexpr std::size_t kMostHosts = 1000;
constexpr std::size_t kMostRuns = 100;

// Reads words that each end with a NUL.
Words read_words() {
  std::string bytes(kLineBytes, '\0');
  std::size_t size = 0;
  for (ssize_t count = 1; count > 0 && size < bytes.size();) {
    count = ::read(STDIN_FILENO, bytes.data() + size, bytes.size() - size);
    size += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  bytes.resize(size);
  Words words;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', begin), bytes.size());
    words.push_back(bytes.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

Words known_hosts(const Completion& line) {
  ClusterOptions options;
  options.hostfile = line.hostfile;
  options.config = line.config;
  options.profile = line.profile;
  Words names;
  if (const auto cluster = read_cluster(options)) {
    for (const hosts::Host& host : cluster->hosts) {
      if (names.size() < kMostHosts) names.push_back(host.name);
    }
  }
  return names;
}

std::vector<Candidate> known_profiles(const Completion& line) {
  ClusterOptions options;
  options.config = line.config;
  std::vector<Candidate> found;
  if (const auto file = read_config(options)) {
    for (const std::string& name : (*file)->config.profiles) found.push_back({.word = name});
  }
  return found;
}

// The newest run first. A run that has a name is offered by its name too.
std::vector<Candidate> known_runs() {
  std::vector<Candidate> found = {{.word = "last", .about = "the newest run"}};
  std::set<std::string> names;
  for (const std::string& id : run::newest_runs(kMostRuns)) {
    const std::string folder = run::runs_folder() + "/" + id;
    const auto command = read_command(folder);
    const std::string program = command ? sys::quote(command->program) : "";
    const auto about = run::read_about(folder);
    const bool is_named = about && run::wrong_name(about->name).empty();
    if (is_named && names.insert(about->name).second) {
      found.push_back({.word = about->name, .about = program});
    }
    found.push_back({.word = id, .about = program});
  }
  return found;
}

Result<int> print_script(const std::string& shell) {
  sys::write_out(completion_script(shell));
  return 0;
}

}  // namespace

int answer_completion(const CLI::App& app) {
  Completion completion = complete(app, read_words());
  if (completion.wanted == Wanted::kHosts) {
    completion.candidates = next_in_list(completion.typed, known_hosts(completion));
  }
  const bool wants_runs =
      completion.wanted == Wanted::kRuns || completion.wanted == Wanted::kResults;
  if (wants_runs) completion.candidates = known_runs();
  if (completion.wanted == Wanted::kProfiles) completion.candidates = known_profiles(completion);
  sys::write_out(answer_text(completion));
  return 0;
}

void add_completion(CLI::App& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "Print a script that lets your shell complete muster's words");
  command->footer(
      "cmake --install puts the scripts where the shells find them. Elsewhere, add the line of the "
      "example to ~/.bashrc or ~/.config/fish/config.fish; for zsh, to ~/.zshrc after compinit.\n\n"
      "Examples:\n"
      "  muster completion bash   # source <(muster completion bash)\n"
      "  muster completion zsh    # source <(muster completion zsh)\n"
      "  muster completion fish   # muster completion fish | source");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &action] { action = [shell] { return print_script(*shell); }; });
}

}  // namespace muster::cli
