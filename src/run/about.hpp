// What is known about an attempt from its start on. Stored in its folder, for the list of runs.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "run/record.hpp"

namespace muster::run {

struct About {
  std::string id;
  std::string name = {};  // the run's --name
  std::string command;
  std::string engine = {};
  double started_s = 0;
  std::vector<std::string> hosts = {};  // hosts with ranks, in rank order
  int ranks = 0;
  // One more than the highest rank. In a pod, this can exceed `ranks`.
  int rank_end = 0;
  double orphan_after_s = 0;  // --orphan-after; 0 in files of an older muster
};

[[nodiscard]] About about(const Record& record, double orphan_after_s = 0);
[[nodiscard]] Result<void> write_about(const std::string& folder, const About& about);
[[nodiscard]] Result<About> read_about(const std::string& folder);

}  // namespace muster::run
