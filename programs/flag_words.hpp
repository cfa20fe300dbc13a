// The arguments of a command line, for a program's CLI11 parser.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace muster::programs {

// Turns --dataset_dir into --dataset-dir, because people write both. CLI11 expects the last
// argument first.
inline std::vector<std::string> flag_words(int count, char** words) {
  std::vector<std::string> all(words + 1, words + count);
  for (std::string& word : all) {
    if (!word.starts_with("--")) continue;
    std::replace(word.begin(), std::find(word.begin(), word.end(), '='), '_', '-');
  }
  return {all.rbegin(), all.rend()};
}

}  // namespace muster::programs
