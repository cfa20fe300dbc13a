// The working directory of a rank.
#pragma once

#include <string>

#include "rankenv/rank.hpp"

namespace muster::agent {

// Changes to the folder, or to the home folder if the folder is missing, as Open MPI does. Sets
// PWD.
void go_to(const std::string& folder, rankenv::Environment& environment);

}  // namespace muster::agent
