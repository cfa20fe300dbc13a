// Decides which files of a project are not sent to the hosts: .gitignore and .musterignore, read as
// git reads them. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::remote {

// One line of an ignore file.
struct IgnorePattern {
  // The parts between slashes; "**" matches any number of folders.
  std::vector<std::string> parts = {};
  bool negated = false;       // a "!" line: a match is kept after all
  bool only_folders = false;  // a "name/" line: matches folders only
};

// The patterns of one ignore file. `depth`: how many folders below the top of the project it is.
struct IgnoreFile {
  std::size_t depth = 0;
  std::vector<IgnorePattern> patterns = {};
};

[[nodiscard]] std::vector<IgnorePattern> parse_ignore_file(std::string_view text);

enum class Ignored { kNotSaid, kNo, kYes };

// Whether the ignore files exclude a path, which is given as its parts below the top. The ignore
// files of deeper folders must come later, because the last matching pattern decides. The caller
// must have checked that all folders above the path are kept.
[[nodiscard]] Ignored is_ignored(std::span<const std::string> path, bool is_folder,
                                 std::span<const IgnoreFile> files);

}  // namespace muster::remote
