// Parts of an explanation in words, for its long and its short form. Pure.
#pragma once

#include <string>

#include "explain/explanation.hpp"

namespace muster::explain {

// `text` at the beginning of a sentence: names of programs, files and values stay as they are.
// `pattern`: the same text before its placeholders were filled.
[[nodiscard]] std::string sentence(const std::string& text, const std::string& pattern);

// "rank 3 on n2", "ranks 0-3 on n1, n2", "n1"; empty if the log does not tell.
[[nodiscard]] std::string who(const Cause& cause);

// "train.py:57, in load_shard"
[[nodiscard]] std::string frame_text(const Frame& frame);

[[nodiscard]] std::string title_of(const Cause& cause);

// "err:6"; of a file that was not read from its beginning only its name.
[[nodiscard]] std::string place_text(const Place& place);

// "err:6: NCCL WARN ..."
[[nodiscard]] std::string evidence_of(const Cause& cause);

}  // namespace muster::explain
