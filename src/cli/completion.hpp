// What the shell's completion offers for a line that is being typed, as far as the parser knows.
// Pure: what only this machine knows, such as host names, the caller adds.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/habits.hpp"

namespace muster::cli {

struct Candidate {
  std::string word;
  std::string about = {};
};

enum class Wanted {
  kWords,     // one of `candidates`
  kHosts,     // a list of hosts
  kRuns,      // the id or the name of a run
  kResults,   // the same, or a file
  kProfiles,  // of muster.yaml
  kFiles,
  kFolders,
  kProgram,  // a program in PATH, or a file
};

struct Completion {
  Wanted wanted = Wanted::kWords;
  std::vector<Candidate> candidates = {};  // all that the place allows, whatever was typed
  std::string kept = {};                   // the beginning of the word that stays: "--hosts="
  std::string typed = {};                  // what follows it
  std::string hostfile = {};               // named earlier on the line
  std::string config = {};
  std::string profile = {};
};

// `words` are what follows "muster"; the last, which may be empty, is being typed.
[[nodiscard]] Completion complete(const CLI::App& app, const Words& words);

// What a shell's function reads: how to go on, then one candidate per line that begins with what
// was typed, each with a tab and its description.
[[nodiscard]] std::string answer_text(const Completion& completion);

// Hosts that can follow in a list such as "n1:4,n", without those that are in it.
[[nodiscard]] std::vector<Candidate> next_in_list(const std::string& list, const Words& hosts);

// The script that makes a shell ask muster; empty: no such shell.
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace muster::cli
