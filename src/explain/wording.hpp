// Parts of an explanation as text, for its long and its short form. Pure.
#pragma once

#include <string>

#include "explain/explanation.hpp"

namespace muster::explain {

// Turns `text` into the beginning of a sentence, but does not capitalise names of programs, files
// and values. `pattern` is the text before its placeholders were replaced.
[[nodiscard]] std::string sentence(const std::string& text, const std::string& pattern);

// Returns "rank 3 on n2", "ranks 0-3 on n1, n2" or "n1"; empty if the log does not say.
[[nodiscard]] std::string who(const Cause& cause);

// Returns "train.py:57, in load_shard".
[[nodiscard]] std::string frame_text(const Frame& frame);

[[nodiscard]] std::string title_of(const Cause& cause);

// Returns "err:6", or only the name of the file if its lines were not counted.
[[nodiscard]] std::string place_text(const Place& place);

// Returns "err:6: NCCL WARN ...".
[[nodiscard]] std::string evidence_of(const Cause& cause);

}  // namespace muster::explain
