// Finds programs as exec does, in the directories of a PATH.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::sys {

// A regular file that we may execute.
[[nodiscard]] bool is_program(const std::string& path);

// The directories of a PATH, in order. For exec in `folder`, an empty entry means that folder and a
// relative one begins there; an empty PATH has one empty entry. Without a folder, empty entries are
// left out and relative ones stay relative.
[[nodiscard]] std::vector<std::string> path_folders(std::string_view path,
                                                    const std::string& folder = "");

// Where a program is: a name in the directories above, a path (with '/') from `folder`. Only what
// is_program accepts counts. Empty: nowhere.
[[nodiscard]] std::string find_in_path(const std::string& name, std::string_view path,
                                       const std::string& folder = "");

// The same in our own PATH.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

}  // namespace muster::sys
