// A job on three hosts with two ranks each, for the tests of all engines' plans.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launch/plan.hpp"
#include "sys/quote.hpp"

namespace muster::launch {

inline layout::Job three_hosts_job() {
  return {.program = {"./train", "--epochs", "3"}, .env = {"NCCL_DEBUG"}};
}

inline layout::Layout three_hosts_layout(layout::Engine engine) {
  layout::Layout layout;
  layout.engine = std::move(engine);
  layout.placements = {{.host = "n1", .first_rank = 0, .ranks = 2},
                       {.host = "n2", .first_rank = 2, .ranks = 2},
                       {.host = "n3", .first_rank = 4, .ranks = 2}};
  layout.ranks = 6;
  layout.subnet = "198.18.0.0/16";
  layout.master_address = "198.18.1.1";
  layout.master_port = 29500;
  layout.threads = 4;
  layout.bind_to = "none";
  return layout;
}

inline Means three_hosts_means(std::vector<std::string> ssh) {
  return {.shim = "/tmp/muster-1000/abc/muster",
          .run_id = "r1",
          .folder = "/home/dev/runs/r1",
          .ssh = std::move(ssh)};
}

// The last words of every engine's command line: the shim's flags that all engines pass, and the
// program.
inline std::string rank_words() {
  return "--run r1 --subnet 198.18.0.0/16 --master 198.18.1.1:29500 -- ./train --epochs 3";
}

// Returns the command line as a user would type it.
inline std::string line_of(const Command& command) {
  return sys::quote(command.argv);
}

}  // namespace muster::launch
