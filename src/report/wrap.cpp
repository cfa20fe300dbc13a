#include "report/wrap.hpp"

namespace muster::report {
namespace {

void wrap_line(std::string_view text, std::size_t width, std::vector<std::string>& lines) {
  std::string line;
  while (true) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    wrap_line(text.substr(0, end), width, lines);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string indented(std::string_view first, std::string_view text, std::size_t width) {
  const std::size_t left = width > first.size() ? width - first.size() : 1;
  std::string all;
  for (const std::string& line : wrap(text, left)) {
    all += all.empty() ? std::string(first) : std::string(first.size(), ' ');
    all += line + '\n';
  }
  return all;
}

}  // namespace muster::report
