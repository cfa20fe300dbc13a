// The program that is to run, as this host would start it.
#pragma once

#include <chrono>
#include <optional>

#include "facts/facts.hpp"
#include "facts/mpi.hpp"
#include "facts/pytorch.hpp"

namespace muster::facts {

// Where a program lies: a path with '/' from `folder`, executable or not; a name in `path` (as of
// PATH) only, as exec does. Empty: nowhere.
[[nodiscard]] std::string find_program_file(const std::string& name, const std::string& folder,
                                            const std::string& path);

// Whether what was built for `architecture` cannot run there; false if either is not known.
[[nodiscard]] bool is_for_another_machine(const std::string& architecture, const Cpu& cpu);

// The program, and what is known of its Python if it is one or a script of one.
struct FoundProgram {
  Program program;
  std::optional<Python> python = std::nullopt;
};

// `not_seen` gets an entry if its libraries could not be listed or its Python did not answer.
[[nodiscard]] FoundProgram read_program(const std::string& name, const std::string& folder,
                                        const Variables& environment,
                                        std::chrono::milliseconds deadline,
                                        std::vector<NotSeen>& not_seen);

}  // namespace muster::facts
