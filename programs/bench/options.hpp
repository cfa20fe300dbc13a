// The flags of muster-bench.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "programs/bench/fabric.hpp"
#include "programs/bench/training.hpp"

namespace CLI {
class App;
}

namespace muster::programs::bench {

struct CollectivesOptions {
  std::vector<std::string> operations = {"all-reduce"};
  std::vector<std::string> backends = {"bare"};
  std::int64_t min = 8;
  std::int64_t max = std::int64_t{64} << 20;
  int factor = 2;
  int iterations = 0;  // 0: as many as fit into `seconds`
  int warmup = -1;     // -1: a share of `seconds`
  double seconds = 0.5;
  bool optional = false;        // leave out backends that cannot be made
  std::string system = "/sys";  // the folder with the network counters
};

using RankPair = std::pair<int, int>;
using Round = std::vector<RankPair>;  // contains each rank at most once

struct PairsOptions {
  std::string rounds;
  std::string backend = "bare";
  double seconds = 0.3;
  bool again = false;
};

struct Options {
  enum class Kind : std::uint8_t { kCollectives, kPairs, kDdp };
  Kind kind = Kind::kCollectives;
  CollectivesOptions collectives;
  PairsOptions pairs;
  TrainingRequest training;
};

void add_options(CLI::App& app, Options& options);

// Throws std::invalid_argument if flags contradict each other or do not fit the job.
void check_options(const Options& options, const World& world);

// Parses "0-1,2-3;0-2,1-3". Throws std::invalid_argument.
[[nodiscard]] std::vector<Round> parse_rounds(const std::string& text, int ranks);

}  // namespace muster::programs::bench
