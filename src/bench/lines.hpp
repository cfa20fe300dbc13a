// Parses the lines that muster-bench prints on its ranks, and adds what they say to Results.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// What is being measured now. It is shown in one line that is updated in place.
struct Activity {
  std::string what;
  int done = 0;
  int of = 0;
  double left_s = -1;  // -1: unknown
};

class Lines {
 public:
  // `host_of_rank`: for each rank, muster's name of its host. `results` must outlive this object.
  // `most_bytes` limits all lines together, so that a rank cannot fill the memory of this process.
  Lines(Results& results, std::vector<std::string> host_of_rank,
        std::size_t most_bytes = std::size_t{256} << 20)
      : results_(results), host_of_rank_(std::move(host_of_rank)), bytes_left_(most_bytes) {}

  // Reads one line. Returns whether muster-bench wrote it for muster, even if it is not valid. All
  // other lines are for people.
  bool take(std::string_view line);

  [[nodiscard]] const Activity& progress() const { return progress_; }
  [[nodiscard]] bool ended() const { return ended_; }  // whether all was measured
  // Why the first invalid line could not be understood; empty if all lines were valid.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  Result<void> read(const std::string& line, const std::string& kind);
  [[nodiscard]] Result<std::string> host(int rank) const;

  Results& results_;
  std::vector<std::string> host_of_rank_;
  Activity progress_;
  std::size_t bytes_left_;  // how many bytes further lines may have
  bool ended_ = false;
  std::string wrong_;
};

}  // namespace muster::bench
