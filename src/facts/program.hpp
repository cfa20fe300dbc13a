// The program to run, as this host would start it.
#pragma once

#include <chrono>
#include <optional>

#include "facts/facts.hpp"
#include "facts/mpi.hpp"
#include "facts/pytorch.hpp"

namespace muster::facts {

// Finds a program as exec does. A name with '/' is a path relative to `folder`, and the file need
// not be executable. Any other name is only searched in `path`, which has the form of PATH. Empty
// if not found.
[[nodiscard]] std::string find_program_file(const std::string& name, const std::string& folder,
                                            const std::string& path);

// Whether a file that was built for `architecture` cannot run on this CPU. False if either
// architecture is unknown.
[[nodiscard]] bool is_for_another_machine(const std::string& architecture, const Cpu& cpu);

// A program and, if it is a Python interpreter or a Python script, what that interpreter reports.
struct FoundProgram {
  Program program;
  std::optional<Python> python = std::nullopt;
};

// Adds an entry to `not_seen` if the libraries could not be listed or Python did not answer.
[[nodiscard]] FoundProgram read_program(const std::string& name, const std::string& folder,
                                        const Variables& environment,
                                        std::chrono::milliseconds deadline,
                                        std::vector<NotSeen>& not_seen);

}  // namespace muster::facts
