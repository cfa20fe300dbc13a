// What people write who come from torchrun, mpirun, hydra, srun and DeepSpeed: read as muster's own
// words, or refused with the spelling to use. Pure. docs/habits.md shows the table to users.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::cli {

using Words = std::vector<std::string>;

// A command line, without the name of the binary.
struct Line {
  Words words;         // for muster: the command and its flags
  Words program = {};  // the program and all that follows it, untouched
};

// A flag as it was met.
struct Given {
  Words typed;   // the flag and its values, as they stood there
  Words values;  // as many as the habit has
};

struct Habit {
  std::string_view names;  // all spellings, parted by blanks; "--name" stands for "-name" too
  int values = 0;          // words that follow it
  // muster's own words instead; none: it is so anyway.
  Result<Words> (*read)(const Habit& habit, const Given& given) = nullptr;
  std::string_view text = {};    // for `read`: muster's flag, or what to do instead
  std::string_view only = {};    // the values that are accepted, parted by blanks; empty: any
  std::string_view engine = {};  // a flag that only this engine has, so muster chooses it
};

[[nodiscard]] std::span<const Habit> habits();
[[nodiscard]] bool refuses(const Habit& habit);  // whatever its value

// The parts between the marks; empty parts are left out.
[[nodiscard]] Words split(std::string_view text, char mark);

// muster's own flags of a command, each spelling ("-H", "--host"), and whether a value follows.
using Flags = std::map<std::string, bool, std::less<>>;

// --nproc_per_node and --nproc-per-node are the same flag. The value does not change.
[[nodiscard]] std::string with_dashes(std::string word);

// Reads the words of a command line, the command's name first; `own` are the command's flags.
using ReadLine = Result<Line>(const Words& words, const Flags& own);

// Translates the flags of a command that runs a job into muster's own. The program begins after
// "--" or at the first word that belongs to no flag; all words from there on are its own. Fails if
// a flag is unknown or asks for something that muster cannot do.
[[nodiscard]] Result<Line> in_own_words(const Words& words, const Flags& own);

// The same for a command that has `arguments` words before its flags.
[[nodiscard]] Result<Line> in_own_words_after(std::size_t arguments, const Words& words,
                                              const Flags& own);

// The number of words between the command's name and its first flag.
[[nodiscard]] std::size_t leading_arguments(const Words& words);

[[nodiscard]] bool asks_for_help(const Words& words);  // right after the command's name

// The same split for a command that has no habits to translate.
[[nodiscard]] Line split_program(const Words& words, const Flags& own);

// For a command that takes no program without "--".
[[nodiscard]] Line split_at_dashes(const Words& words);

}  // namespace muster::cli
