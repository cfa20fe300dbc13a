// Whether a command line has a word.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace muster::remote {

inline bool has_word(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace muster::remote
