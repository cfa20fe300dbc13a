// Translates the flags that users know from torchrun, mpirun, hydra, srun and DeepSpeed ("habits")
// into muster's own, or rejects them and says what to use instead. Pure. docs/habits.md shows the
// table to users.
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
  Words program = {};  // the program and all its arguments, unchanged
};

// A flag as it was found on the line.
struct Given {
  Words typed;   // the flag and its values, as they were typed
  Words values;  // as many as Habit::values
};

struct Habit {
  std::string_view names;  // all spellings, separated by blanks; "--name" also matches "-name"
  int values = 0;          // how many values follow it
  // Returns the words of muster's own that replace the flag; none if muster already behaves that
  // way.
  Result<Words> (*read)(const Habit& habit, const Given& given) = nullptr;
  std::string_view text = {};    // for `read`: muster's flag, or what to do instead
  std::string_view only = {};    // accepted values, separated by blanks; empty: all
  std::string_view engine = {};  // the only engine that has this flag; muster then selects it
};

[[nodiscard]] std::span<const Habit> habits();
[[nodiscard]] bool refuses(const Habit& habit);  // whatever the flag's value

// The parts of the text between the marks, without empty ones.
[[nodiscard]] Words split(std::string_view text, char mark);

// All flags of a command, in every spelling ("-H", "--host"). The value says whether the flag takes
// one.
using Flags = std::map<std::string, bool, std::less<>>;

// Replaces underscores in the flag, so that --nproc_per_node becomes --nproc-per-node. The value
// does not change.
[[nodiscard]] std::string with_dashes(std::string word);

// A function that reads the words of a command line, beginning with the command's name. `own` are
// the flags of this command.
using ReadLine = Result<Line>(const Words& words, const Flags& own);

// Translates the flags of a command that runs a job into muster's own. The program begins after
// "--", or at the first word that belongs to no flag, and all following words are its arguments.
// Fails if a flag is unknown or asks for something that muster cannot do.
[[nodiscard]] Result<Line> in_own_words(const Words& words, const Flags& own);

// Like in_own_words, for a command with `arguments` words before its flags.
[[nodiscard]] Result<Line> in_own_words_after(std::size_t arguments, const Words& words,
                                              const Flags& own);

// The number of words between the command's name and its first flag.
[[nodiscard]] std::size_t leading_arguments(const Words& words);

// Whether the command's name is followed by a request for help, or by nothing.
[[nodiscard]] bool asks_for_help(const Words& words);

// Splits words and program like in_own_words, for a command that accepts no flags of other
// launchers.
[[nodiscard]] Line split_program(const Words& words, const Flags& own);

// Splits words and program at "--", for a command whose program can only follow "--".
[[nodiscard]] Line split_at_dashes(const Words& words);

}  // namespace muster::cli
