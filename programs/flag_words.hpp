// The words of a command line, for a program's own CLI11.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace muster::programs {

// People write --dataset_dir and --dataset-dir; both mean one flag. In CLI11's order: from the
// last.
inline std::vector<std::string> flag_words(int count, char** words) {
  std::vector<std::string> all(words + 1, words + count);
  for (std::string& word : all) {
    if (!word.starts_with("--")) continue;
    std::replace(word.begin(), std::find(word.begin(), word.end(), '='), '_', '-');
  }
  return {all.rbegin(), all.rend()};
}

}  // namespace muster::programs
