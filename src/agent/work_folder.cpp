#include "agent/work_folder.hpp"

#include <unistd.h>

namespace muster::agent {

void go_to(const std::string& folder, rankenv::Environment& environment) {
  const auto home = environment.find("HOME");
  for (const std::string& one : {folder, home == environment.end() ? "" : home->second}) {
    if (one.empty() || ::chdir(one.c_str()) != 0) continue;
    environment.insert_or_assign("PWD", one);
    return;
  }
}

}  // namespace muster::agent
