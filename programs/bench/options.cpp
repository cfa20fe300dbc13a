#include "programs/bench/options.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "programs/bench/operations.hpp"

namespace muster::programs::bench {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 46;
constexpr int kManyTimes = 1'000'000;
constexpr int kLargestImage = 4096;

void add_collectives(CLI::App& app, Options& options) {
  CollectivesOptions& own = options.collectives;
  CLI::App& command = *app.add_subcommand(
      "collectives", "Measures collective operations at growing sizes, each with every backend");
  command.callback([&options] { options.kind = Options::Kind::kCollectives; });
  command.add_option("--operations", own.operations, "With commas: " + operation_names())
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--backends", own.backends, "With commas: bare (MPI itself), mpi, gloo, nccl")
      ->delimiter(',')
      ->check(CLI::IsMember({"bare", "mpi", "gloo", "nccl"}))
      ->capture_default_str();
  command.add_option("--min", own.min, "Smallest size, bytes as nccl-tests counts them")
      ->check(CLI::Range(std::int64_t{1}, kMostBytes))
      ->capture_default_str();
  command.add_option("--max", own.max, "Largest size, bytes")
      ->check(CLI::Range(std::int64_t{1}, kMostBytes))
      ->capture_default_str();
  command.add_option("--factor", own.factor, "Each size is so many times the one before")
      ->check(CLI::Range(2, kManyTimes))
      ->capture_default_str();
  command.add_option("--iterations", own.iterations, "Of each size, whatever time they take")
      ->check(CLI::Range(1, kManyTimes));
  command.add_option("--warmup", own.warmup, "Iterations before those that count")
      ->check(CLI::Range(0, kManyTimes));
  command.add_option("--seconds", own.seconds, "How long each size is measured with each backend")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  command.add_flag("--optional", own.optional,
                   "Measure what there is: a backend that some rank cannot use is reported as "
                   "skipped, and so are sizes that bare cannot take");
  command.add_option("--system", own.system, "Where class/net and class/infiniband are")->group("");
}

void add_pairs(CLI::App& app, Options& options) {
  PairsOptions& own = options.pairs;
  CLI::App& command = *app.add_subcommand(
      "pairs", "Measures latency and bandwidth between pairs of ranks, both ways");
  command.callback([&options] { options.kind = Options::Kind::kPairs; });
  command
      .add_option("--rounds", own.rounds,
                  "Pairs that measure at the same time, round after round: 0-1,2-3;0-2,1-3")
      ->required();
  command.add_option("--backend", own.backend, "bare (MPI itself), gloo or mpi")
      ->check(CLI::IsMember({"bare", "gloo", "mpi"}))
      ->capture_default_str();
  command.add_option("--seconds", own.seconds, "How long each direction is measured")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  command.add_flag("--again", own.again, "Say in the results that this is a second look");
}

void add_ddp(CLI::App& app, Options& options) {
  TrainingRequest& own = options.training;
  CLI::App& command = *app.add_subcommand(
      "ddp", "Trains a model on made-up data, with and without the exchange of gradients");
  command.callback([&options] { options.kind = Options::Kind::kDdp; });
  own = {.model = "resnet50", .backend = "mpi", .device = "cpu"};
  command.add_option("--model", own.model, "resnet50 or mlp")
      ->check(CLI::IsMember({"resnet50", "mlp"}))
      ->capture_default_str();
  command.add_option("--backend", own.backend, "mpi, gloo or nccl")
      ->check(CLI::IsMember({"mpi", "gloo", "nccl"}))
      ->capture_default_str();
  command.add_option("--steps", own.steps, "With the exchange, and as many without; else by time")
      ->check(CLI::Range(1, kManyTimes));
  command.add_option("--batch", own.batch, "Samples of a rank in a step (resnet50: 4, mlp: 64)")
      ->check(CLI::Range(1, kManyTimes));
  command.add_option("--image-size", own.image_size, "Width and height for resnet50 (64)")
      ->check(CLI::Range(32, kLargestImage));
  command.add_option("--hosts", own.hosts, "How many hosts the ranks are on, for the results")
      ->check(CLI::Range(1, kManyTimes));
  command.add_option("--device", own.device, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
}

void check_training(const TrainingRequest& request) {
  if (request.backend == "nccl" && request.device != "cuda")
    throw std::invalid_argument("nccl moves the memory of CUDA devices only; add --device cuda");
}

void check_collectives(const CollectivesOptions& options) {
  for (const auto& name : options.operations) {
    if (!operation_of(name))
      throw std::invalid_argument("there is no operation '" + name +
                                  "'; --operations takes: " + operation_names());
  }
  if (options.min > options.max)
    throw std::invalid_argument("--min " + std::to_string(options.min) + " is more than --max " +
                                std::to_string(options.max) + "; give a smaller --min");
  std::set<std::string> seen;
  for (const auto& backend : options.backends) {
    if (!seen.insert(backend).second)
      throw std::invalid_argument("--backends names " + backend + " twice; name it once");
    if (!options.optional && options.max > most_bytes(backend))
      throw std::invalid_argument(
          "MPI's own calls count elements in 31 bits; leave bare out of --backends, give --max " +
          std::to_string(most_bytes(backend)) +
          " at most, or --optional to leave larger sizes out for bare");
  }
}

int parse_rank(const std::string& text, int ranks, const std::string& pair) {
  int rank = -1;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, rank);
  if (parsed.ec != std::errc() || parsed.ptr != end || rank < 0)
    throw std::invalid_argument("'" + pair +
                                "' in --rounds is no pair of ranks; write them as in 0-1,2-3;0-2");
  if (rank >= ranks)
    throw std::invalid_argument("--rounds names rank " + text + ", and the job has " +
                                std::to_string(ranks) + "; ranks count from 0");
  return rank;
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

}  // namespace

std::vector<Round> parse_rounds(const std::string& text, int ranks) {
  std::vector<Round> rounds;
  for (const auto& round : split_at(text, ';')) {
    std::set<int> busy;
    rounds.emplace_back();
    for (const auto& pair : split_at(round, ',')) {
      const auto dash = std::min(pair.find('-'), pair.size());
      const int one = parse_rank(pair.substr(0, dash), ranks, pair);
      const int other = parse_rank(pair.substr(std::min(dash + 1, pair.size())), ranks, pair);
      if (!busy.insert(one).second || !busy.insert(other).second)
        throw std::invalid_argument("a rank is twice in the round '" + round +
                                    "' of --rounds; put the pairs into two rounds, with ; between");
      rounds.back().emplace_back(one, other);
    }
  }
  if (rounds.empty()) throw std::invalid_argument("--rounds is empty; give pairs as in 0-1,2-3");
  return rounds;
}

void add_options(CLI::App& app, Options& options) {
  app.require_subcommand(1);
  add_collectives(app, options);
  add_pairs(app, options);
  add_ddp(app, options);
}

void check_options(const Options& options, const World& world) {
  if (options.kind == Options::Kind::kCollectives) check_collectives(options.collectives);
  if (options.kind == Options::Kind::kPairs)
    static_cast<void>(parse_rounds(options.pairs.rounds, world.size));
  if (options.kind == Options::Kind::kDdp) check_training(options.training);
}

}  // namespace muster::programs::bench
