// Parses the stacks that other programs print.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "inspect/inspection.hpp"

namespace muster::inspect {

constexpr std::size_t kMostFrames = 64;

// Returns the main thread's stack from the JSON of `py-spy dump`. Empty if the thread is not listed
// or the text is invalid.
[[nodiscard]] std::vector<Frame> parse_pyspy(std::string_view json, pid_t pid);

// Returns the main thread's stack from the text of Python's faulthandler, where it is the last
// section.
[[nodiscard]] std::vector<Frame> parse_faulthandler(std::string_view text);

// The stack of the only thread that eu-stack printed.
[[nodiscard]] std::vector<Frame> parse_eu_stack(std::string_view text);

// The name of a C++ function without arguments, template arguments and return type.
[[nodiscard]] std::string short_function(std::string_view demangled);

// Whether a Python file belongs to the standard library or a package, and not to the user.
[[nodiscard]] bool is_of_library(std::string_view file);

// Returns "train.py:57 load_shard" for the innermost frame outside of Python's library and
// packages. Empty if there is no such frame.
[[nodiscard]] std::string users_place(std::span<const Frame> frames);

}  // namespace muster::inspect
