// Prepares the arguments of a command line for a CLI11 parser.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace muster::programs {

// Returns the arguments in the order that CLI11 expects, the last one first. Turns --dataset_dir
// into --dataset-dir, because people write both.
inline std::vector<std::string> flag_words(int count, char** words) {
  std::vector<std::string> all(words + 1, words + count);
  for (std::string& word : all) {
    if (!word.starts_with("--")) continue;
    std::replace(word.begin(), std::find(word.begin(), word.end(), '='), '_', '-');
  }
  return {all.rbegin(), all.rend()};
}

}  // namespace muster::programs
