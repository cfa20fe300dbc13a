#include "remote/ignore.hpp"

#include <algorithm>
#include <optional>

#include <fnmatch.h>

namespace muster::remote {
namespace {

constexpr std::string_view kAnyFolders = "**";

// Trailing blanks are ignored unless a backslash precedes them.
std::string_view without_trailing_blanks(std::string_view line) {
  while (line.ends_with(' ')) {
    std::size_t backslashes = 0;
    while (backslashes + 1 < line.size() && line[line.size() - 2 - backslashes] == '\\') {
      ++backslashes;
    }
    if (backslashes % 2 == 1) break;
    line.remove_suffix(1);
  }
  return line;
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

std::optional<IgnorePattern> parse_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  line = without_trailing_blanks(line);
  if (line.empty() || line.front() == '#') return std::nullopt;
  IgnorePattern pattern;
  if (line.front() == '!') {
    pattern.negated = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    pattern.only_folders = true;
    line.remove_suffix(1);
  }
  const bool is_anchored = line.find('/') != std::string_view::npos;
  pattern.parts = split_path(line);
  if (pattern.parts.empty()) return std::nullopt;
  if (!is_anchored) pattern.parts.insert(pattern.parts.begin(), std::string(kAnyFolders));
  // "logs/**" matches everything in the folder, but not the folder itself.
  if (pattern.parts.back() == kAnyFolders) pattern.parts.emplace_back("*");
  return pattern;
}

// Whether the pattern matches the whole path. Cost: at most the product of the two lengths.
bool matches(std::span<const std::string> pattern, std::span<const std::string> path) {
  std::size_t at = 0;
  std::size_t from = 0;
  std::optional<std::size_t> after_any;  // position in the pattern right after the last "**"
  std::size_t swallowed = 0;             // how far into the path that "**" reaches
  while (from < path.size()) {
    if (at < pattern.size() && pattern[at] == kAnyFolders) {
      after_any = ++at;
      swallowed = from;
    } else if (at < pattern.size() && ::fnmatch(pattern[at].c_str(), path[from].c_str(), 0) == 0) {
      ++at;
      ++from;
    } else if (after_any) {
      at = *after_any;
      from = ++swallowed;
    } else {
      return false;
    }
  }
  return at == pattern.size();
}

}  // namespace

std::vector<IgnorePattern> parse_ignore_file(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<IgnorePattern> patterns;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto pattern = parse_line(text.substr(0, end))) patterns.push_back(*std::move(pattern));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return patterns;
}

Ignored is_ignored(std::span<const std::string> path, bool is_folder,
                   std::span<const IgnoreFile> files) {
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (path.size() <= file->depth) continue;
    const auto below = path.subspan(file->depth);
    for (auto one = file->patterns.rbegin(); one != file->patterns.rend(); ++one) {
      if (one->only_folders && !is_folder) continue;
      if (matches(one->parts, below)) return one->negated ? Ignored::kNo : Ignored::kYes;
    }
  }
  return Ignored::kNotSaid;
}

}  // namespace muster::remote
