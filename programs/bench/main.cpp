// muster-bench: one rank of a measurement. `muster bench` starts it on all hosts; mpirun, srun and
// torchrun can start it too.
//
//   collectives  operations at growing sizes, each with every backend in turn
//   pairs        latency and bandwidth between pairs of ranks, round after round
//   ddp          training steps with and without the exchange of gradients
//
// Rank 0 prints one JSON object per line and flushes each. The key "kind" is measurement, skipped,
// traffic, pair, training, progress, or, when everything was measured, end. Every line has
// "muster_bench": 1. Other ranks print nothing. Exit codes: 0, 1 (failure, with the reason on
// standard error), 2 (wrong flags), 3 (an operation gave wrong results).
//
// The executable depends on neither PyTorch nor an MPI. A Fabric (fabric.hpp) moves the data. It is
// in a module in ../lib/muster that is loaded on demand: MPI's own calls for each ABI
// (bare_module.cpp), or c10d's backends and the training (torch_fabric.cpp, torch_training.cpp).
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/environment.hpp"
#include "programs/bench/measure.hpp"
#include "programs/bench/words.hpp"
#include "programs/flag_words.hpp"
#include "rankenv/rank.hpp"
#include "trainflags/help.hpp"

namespace {

using muster::programs::bench::Lines;
using muster::programs::bench::Options;
using muster::programs::bench::World;

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kWrong = 3;

World read_world() {
  const auto environment = muster::own_environment();
  const auto rank = muster::rankenv::read(environment);
  if (!rank) throw std::runtime_error(to_text(rank.error()));
  return {.rank = rank->rank,
          .size = rank->size,
          .local_rank = rank->local_rank,
          .hosts = rank->host_count.value_or(1),
          .mpi = muster::rankenv::is_mpi_job(*rank, environment)};
}

int measure(const Options& options, const World& world) {
  namespace bench = muster::programs::bench;
  const Lines lines(world.rank == 0);
  switch (options.kind) {
    case Options::Kind::kCollectives:
      return bench::measure_collectives(options.collectives, world, lines) > 0 ? kWrong : 0;
    case Options::Kind::kPairs:
      bench::measure_pairs(options.pairs, world, lines);
      return 0;
    case Options::Kind::kDdp:
      bench::measure_training(options.training, lines);
      return 0;
  }
  return 0;
}

void say(const std::string& message) {
  std::fprintf(stderr, "muster-bench: %s\n", muster::programs::bench::one_line(message).c_str());
}

void say_failure(const World& world, const std::string& message) {
  say((world.rank == 0 ? "" : "rank " + std::to_string(world.rank) + ": ") + message);
}

// Other ranks may be waiting for this one, and MPI_Finalize would wait for them. Exiting without
// MPI_Finalize makes the launcher end them.
[[noreturn]] void leave_failed() {
  std::fflush(nullptr);
  _exit(kFailed);
}

int run(int count, char** words, World& world) {
  world = read_world();
  CLI::App app(
      "Measure operations, links or a training on all ranks of the job that this process belongs "
      "to");
  app.name("muster-bench");
  app.formatter(muster::trainflags::help_formatter());
  app.set_help_flag("-h,--help", "Show this help");
  Options options;
  add_options(app, options);
  try {
    app.parse(muster::programs::flag_words(count, words));
    options.training.world = world;
    check_options(options, world);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return world.rank == 0 ? app.exit(error) : 0;  // --help
    // Every rank prints the error, in the same words. When the first rank fails, an engine kills
    // all others, and rank 0 may not have got this far.
    say(error.what());
    return kUsage;
  } catch (const std::invalid_argument& error) {
    say(error.what());
    return kUsage;
  }
  return measure(options, world);
}

}  // namespace

int main(int count, char** words) {
  World world;
  try {
    return run(count, words, world);
  } catch (const std::bad_alloc&) {
    say_failure(
        world,
        "there is not enough memory for the buffers; pass a smaller --max, or use fewer ranks");
  } catch (const std::exception& error) {
    say_failure(world, error.what());
  }
  leave_failed();
}
