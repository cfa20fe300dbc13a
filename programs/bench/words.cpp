#include "programs/bench/words.hpp"

#include <sstream>

namespace muster::programs::bench {

std::string one_line(const std::string& message) {
  std::istringstream lines(message.substr(0, message.find("\nException raised from ")));
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    line.erase(0, begin);
    if (line.starts_with("hint: ")) line.erase(0, 6);
    if (!all.empty()) all += all.ends_with(':') ? " " : "; ";
    all += line;
  }
  return all;
}

}  // namespace muster::programs::bench
