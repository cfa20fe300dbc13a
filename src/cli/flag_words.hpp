// Reduces the command line of `muster run`, up to its program, to what is stored or passed on.
// Flags that are not in the table of `run` stay unchanged. All pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/flag.hpp"
#include "cli/habits.hpp"

namespace muster::cli {

// The flag with this spelling ("-H", "--hosts"); null if `run` has none.
[[nodiscard]] const Flag* find_flag(std::string_view spelling);

// The long name that muster uses for the flag.
[[nodiscard]] std::string_view long_name(const Flag& flag);

// The position of NAME=value in a word such as -xNAME=value. If NAME=value is the next word, the
// size of `word`. Nothing if `word` is no flag with a secret value.
[[nodiscard]] std::optional<std::size_t> find_secret(const std::string& word);

// Turns -x NAME=value into -x NAME.
[[nodiscard]] Words without_secrets(const Words& words);

// The words that are stored with a run, for --again.
[[nodiscard]] Words kept_words(const Words& words);

// The words for the `muster run` inside the Slurm job.
[[nodiscard]] Words slurm_job_words(const Words& words);

// The command line for --again: the stored one, in which the flags that were typed beside --again
// replace their stored values.
[[nodiscard]] Words again_words(const Words& stored, const Words& typed);

}  // namespace muster::cli
