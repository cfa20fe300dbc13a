#include "report/wrap.hpp"

#include <algorithm>

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

constexpr std::string_view kCut = "...";

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

std::string cut_line(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  std::size_t end = width - std::min(width, kCut.size());
  // Do not cut inside a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + std::string(kCut);
}

std::vector<std::string> cut_lines(std::string_view text, std::size_t width, std::size_t most) {
  std::vector<std::string> lines = wrap(text, width);
  for (std::size_t i = most; i < lines.size() && most > 0; ++i) lines[most - 1] += " " + lines[i];
  lines.resize(std::min(lines.size(), most));
  for (std::string& line : lines) line = cut_line(line, width);
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
