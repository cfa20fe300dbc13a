// A command line of `muster run`, as far as its program, cut down to what is stored or passed on.
// Flags that are not in the table of `run` stay as they are. All pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/flag.hpp"
#include "cli/habits.hpp"

namespace muster::cli {

// The flag of this spelling ("-H", "--hosts"); null if `run` has none.
[[nodiscard]] const Flag* find_flag(std::string_view spelling);

// The long name by which muster writes a flag.
[[nodiscard]] std::string_view long_name(const Flag& flag);

// Where NAME=value begins in a word such as -xNAME=value. The word's size: the next word is
// NAME=value. Nothing: the word has no flag whose value is secret.
[[nodiscard]] std::optional<std::size_t> find_secret(const std::string& word);

// -x NAME=value becomes -x NAME.
[[nodiscard]] Words without_secrets(const Words& words);

// What is stored with a run, for --again.
[[nodiscard]] Words kept_words(const Words& words);

// What the `muster run` inside the Slurm job gets.
[[nodiscard]] Words slurm_job_words(const Words& words);

// The stored words, with the flags that were typed beside --again in place of the stored ones.
[[nodiscard]] Words again_words(const Words& stored, const Words& typed);

}  // namespace muster::cli
