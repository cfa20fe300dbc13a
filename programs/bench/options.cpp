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
      "collectives",
      "Measure collective operations at growing message sizes, each with every backend");
  command.callback([&options] { options.kind = Options::Kind::kCollectives; });
  command
      .add_option("--operations", own.operations, "Comma-separated list of " + operation_names())
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--backends", own.backends,
                  "Comma-separated list of bare (MPI itself), mpi, gloo and nccl")
      ->delimiter(',')
      ->check(CLI::IsMember({"bare", "mpi", "gloo", "nccl"}))
      ->capture_default_str();
  command.add_option("--min", own.min, "Smallest message in bytes, counted as in nccl-tests")
      ->check(CLI::Range(std::int64_t{1}, kMostBytes))
      ->capture_default_str();
  command.add_option("--max", own.max, "Largest message in bytes")
      ->check(CLI::Range(std::int64_t{1}, kMostBytes))
      ->capture_default_str();
  command.add_option("--factor", own.factor, "Each message size is N times the previous one")
      ->check(CLI::Range(2, kManyTimes))
      ->capture_default_str();
  command
      .add_option("--iterations", own.iterations,
                  "Repetitions per message size; default: as many as fit into --seconds")
      ->check(CLI::Range(1, kManyTimes));
  command.add_option("--warmup", own.warmup, "Repetitions before the ones that count")
      ->check(CLI::Range(0, kManyTimes));
  command
      .add_option("--seconds", own.seconds, "Time to spend on each message size with each backend")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  command.add_flag("--optional", own.optional,
                   "Skip backends that some rank cannot use, and sizes that bare cannot send, "
                   "instead of failing");
  command.add_option("--system", own.system, "Directory with class/net and class/infiniband")
      ->group("");
}

void add_pairs(CLI::App& app, Options& options) {
  PairsOptions& own = options.pairs;
  CLI::App& command = *app.add_subcommand(
      "pairs", "Measure latency and bandwidth between pairs of ranks, in both directions");
  command.callback([&options] { options.kind = Options::Kind::kPairs; });
  command
      .add_option("--rounds", own.rounds,
                  "Pairs of ranks that measure at the same time; rounds are separated by "
                  "semicolons: 0-1,2-3;0-2,1-3")
      ->required();
  command.add_option("--backend", own.backend, "Backend: bare (MPI itself), gloo or mpi")
      ->check(CLI::IsMember({"bare", "gloo", "mpi"}))
      ->capture_default_str();
  command.add_option("--seconds", own.seconds, "Time to spend on each direction")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  command.add_flag("--again", own.again, "Mark the results as a repeated measurement");
}

void add_ddp(CLI::App& app, Options& options) {
  TrainingRequest& own = options.training;
  CLI::App& command = *app.add_subcommand(
      "ddp", "Train a model on random data, with and without the exchange of gradients");
  command.callback([&options] { options.kind = Options::Kind::kDdp; });
  own = {.model = "resnet50", .backend = "mpi", .device = "cpu"};
  command.add_option("--model", own.model, "Model to train: resnet50 or mlp")
      ->check(CLI::IsMember({"resnet50", "mlp"}))
      ->capture_default_str();
  command.add_option("--backend", own.backend, "Backend: mpi, gloo or nccl")
      ->check(CLI::IsMember({"mpi", "gloo", "nccl"}))
      ->capture_default_str();
  command
      .add_option(
          "--steps", own.steps,
          "Steps with the exchange of gradients, and as many without; default: chosen by time")
      ->check(CLI::Range(1, kManyTimes));
  command
      .add_option("--batch", own.batch, "Batch size per rank; default: 4 for resnet50, 64 for mlp")
      ->check(CLI::Range(1, kManyTimes));
  command
      .add_option("--image-size", own.image_size,
                  "Image width and height for resnet50; default: 64")
      ->check(CLI::Range(32, kLargestImage));
  command
      .add_option("--hosts", own.hosts, "Number of hosts that the ranks run on, for the results")
      ->check(CLI::Range(1, kManyTimes));
  command.add_option("--device", own.device, "Where to train: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
}

void check_training(const TrainingRequest& request) {
  if (request.backend == "nccl" && request.device != "cuda")
    throw std::invalid_argument("nccl works only with CUDA devices; add --device cuda");
}

void check_collectives(const CollectivesOptions& options) {
  for (const auto& name : options.operations) {
    if (!operation_of(name))
      throw std::invalid_argument("there is no operation '" + name +
                                  "'; --operations accepts: " + operation_names());
  }
  if (options.min > options.max)
    throw std::invalid_argument("--min " + std::to_string(options.min) + " is more than --max " +
                                std::to_string(options.max) + "; pass a smaller --min");
  std::set<std::string> seen;
  for (const auto& backend : options.backends) {
    if (!seen.insert(backend).second)
      throw std::invalid_argument("--backends names " + backend + " twice; name it once");
    if (!options.optional && options.max > most_bytes(backend))
      throw std::invalid_argument(
          "MPI's own calls cannot send more than 2147483647 elements; leave bare out of "
          "--backends, pass --max " +
          std::to_string(most_bytes(backend)) +
          " or less, or pass --optional to skip larger sizes for bare");
  }
}

int parse_rank(const std::string& text, int ranks, const std::string& pair) {
  int rank = -1;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, rank);
  if (parsed.ec != std::errc() || parsed.ptr != end || rank < 0)
    throw std::invalid_argument(
        "'" + pair + "' in --rounds is not a pair of ranks; write pairs as in 0-1,2-3;0-2");
  if (rank >= ranks)
    throw std::invalid_argument("--rounds names rank " + text + ", but the job has " +
                                std::to_string(ranks) + " ranks; the first is rank 0");
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
        throw std::invalid_argument("a rank occurs twice in the round '" + round +
                                    "' of --rounds; put its pairs into two rounds, separated by ;");
      rounds.back().emplace_back(one, other);
    }
  }
  if (rounds.empty()) throw std::invalid_argument("--rounds is empty; write pairs as in 0-1,2-3");
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
