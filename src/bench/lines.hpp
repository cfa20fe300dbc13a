// What muster-bench says on its ranks, line by line, into Results.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// What is measured now, for one line that changes.
struct Activity {
  std::string what;
  int done = 0;
  int of = 0;
  double left_s = -1;  // -1: nobody knows
};

class Lines {
 public:
  // `host_of_rank`: the names that muster calls them by. `results` outlives this.
  // `most_bytes`: of all lines together, so that a rank cannot fill our memory.
  Lines(Results& results, std::vector<std::string> host_of_rank,
        std::size_t most_bytes = std::size_t{256} << 20)
      : results_(results), host_of_rank_(std::move(host_of_rank)), bytes_left_(most_bytes) {}

  // Whether it was a line of muster-bench's, taken in or wrong. All others are for people.
  bool take(std::string_view line);

  [[nodiscard]] const Activity& progress() const { return progress_; }
  [[nodiscard]] bool ended() const { return ended_; }  // all was measured
  // The first line that could not be understood, and why; empty: none.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  Result<void> read(const std::string& line, const std::string& kind);
  [[nodiscard]] Result<std::string> host(int rank) const;

  Results& results_;
  std::vector<std::string> host_of_rank_;
  Activity progress_;
  std::size_t bytes_left_;  // of the lines to come
  bool ended_ = false;
  std::string wrong_;
};

}  // namespace muster::bench
