// Finds programs as exec does, in the directories of a PATH.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::sys {

// Whether it is a regular file that we may execute.
[[nodiscard]] bool is_program(const std::string& path);

// The directories of a PATH, in order. With a `folder`, empty entries mean that folder and relative
// entries start there, as for a program executed in it; an empty PATH has one empty entry. Without
// a folder, empty entries are left out and relative ones stay relative.
[[nodiscard]] std::vector<std::string> path_folders(std::string_view path,
                                                    const std::string& folder = "");

// The path of a program, given as a name in the directories of `path` or as a path (with '/')
// relative to `folder`. Only files that is_program accepts count. Empty if there is none.
[[nodiscard]] std::string find_in_path(const std::string& name, std::string_view path,
                                       const std::string& folder = "");

// Searches this process's own PATH.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

}  // namespace muster::sys
