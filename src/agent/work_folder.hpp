// Where a rank starts.
#pragma once

#include <string>

#include "rankenv/rank.hpp"

namespace muster::agent {

// Goes to the folder, or to the home folder where it is missing, as Open MPI does; PWD follows.
void go_to(const std::string& folder, rankenv::Environment& environment);

}  // namespace muster::agent
