// The stacks that other programs print.
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

// Of the main thread in the JSON of `py-spy dump`. Empty: it has none, or this is no such text.
[[nodiscard]] std::vector<Frame> parse_pyspy(std::string_view json, pid_t pid);

// Of the main thread, whose section is the last one that Python's faulthandler writes.
[[nodiscard]] std::vector<Frame> parse_faulthandler(std::string_view text);

// Of the only thread that eu-stack printed.
[[nodiscard]] std::vector<Frame> parse_eu_stack(std::string_view text);

// A C++ function without arguments, template arguments and return type.
[[nodiscard]] std::string short_function(std::string_view demangled);

// Whether a Python file belongs to the standard library or to a package rather than to the user.
[[nodiscard]] bool is_of_library(std::string_view file);

// "train.py:57 load_shard": the innermost frame outside of Python's library and of packages. Empty:
// there is none.
[[nodiscard]] std::string users_place(std::span<const Frame> frames);

}  // namespace muster::inspect
