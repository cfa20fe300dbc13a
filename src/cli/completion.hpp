// What the shell's completion offers for a line that is being typed, as far as the parser knows.
// Pure: the caller adds what only this machine knows, such as host names.
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
  kResults,   // like kRuns, or a file
  kProfiles,  // a profile in muster.yaml
  kFiles,
  kFolders,
  kProgram,  // a program in PATH, or a file
};

struct Completion {
  Wanted wanted = Wanted::kWords;
  std::vector<Candidate> candidates = {};  // all that are possible here, whatever was typed
  std::string kept = {};                   // the start of the word that does not change: "--hosts="
  std::string typed = {};                  // the rest of that word
  std::string hostfile = {};               // from a flag earlier in the line
  std::string config = {};
  std::string profile = {};
};

// `words` are what follows "muster". The last one is being typed and may be empty.
[[nodiscard]] Completion complete(const CLI::App& app, const Words& words);

// The output that the completion scripts read. The first line tells them how to use the rest. Then
// follows one line for each candidate that begins with the typed text; a tab separates the
// candidate from its description.
[[nodiscard]] std::string answer_text(const Completion& completion);

// The ways to complete a list such as "n1:4,n": what precedes its last entry, followed by one of
// `hosts`. Hosts that the list already contains are left out.
[[nodiscard]] std::vector<Candidate> next_in_list(const std::string& list, const Words& hosts);

// The script that makes this shell ask muster; empty if muster does not know the shell.
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace muster::cli
