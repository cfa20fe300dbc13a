#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <numeric>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/size_text.hpp"
#include "programs/bench/backends.hpp"
#include "programs/bench/counters.hpp"
#include "programs/bench/estimate.hpp"
#include "programs/bench/exchange.hpp"
#include "programs/bench/measure.hpp"
#include "programs/bench/operations.hpp"
#include "programs/bench/pattern.hpp"
#include "programs/bench/words.hpp"

namespace muster::programs::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLeast = 5;          // fewest iterations
constexpr int kMost = 100'000;     // most iterations
constexpr int kMostWarm = 256;     // most warm-up calls in one batch
constexpr double kWarmPart = 0.2;  // share of `seconds` for the warm-up

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

struct Measured {
  std::vector<double> times;       // of single iterations on the slowest rank, ascending
  double total_s = 0;              // of all iterations, on the slowest rank
  std::int64_t wrong = 0;          // wrong elements on all ranks
  std::vector<DeviceBytes> moved;  // by this host; empty unless this rank is the host's first
};

// Returns the nearest-rank percentile: the smallest value such that at least this part of all
// values (0 to 1) is not larger.
double percentile(const std::vector<double>& ascending, double part) {
  const auto place =
      static_cast<std::size_t>(std::ceil(part * static_cast<double>(ascending.size())));
  return ascending[std::clamp<std::size_t>(place, 1, ascending.size()) - 1];
}

// Parses the list of [name, rdma, sent, received] that a rank sent.
Json named_devices(const std::string& text) {
  Json devices = Json::array();
  for (const auto& device : parse_json(text).value_or(nlohmann::json::array())) {
    devices.push_back({{"name", device.at(0)},
                       {"rdma", device.at(1)},
                       {"sent", device.at(2)},
                       {"received", device.at(3)}});
  }
  return devices;
}

class Collectives {
 public:
  Collectives(const CollectivesOptions& options, const World& world, const Lines& lines)
      : options_(options),
        world_(world),
        lines_(lines),
        backends_(make_backends(options.backends, options.optional, world)),
        estimate_(options.iterations > 0 ? options.iterations : kLeast,
                  options.iterations > 0 ? options.iterations : kMost, options.seconds) {}

  std::int64_t run() {
    for (const auto& [name, why] : backends_.missing) skip("all", name, why);
    plan();
    for (std::size_t next = 0; next < steps_.size(); ++next) {
      const Step& step = steps_[next];
      lines_.progress(std::string(name_of(step.operation)) +
                          (step.bytes > 0 ? " " + size_text(step.bytes) : "") + ", " +
                          backends_.names[step.backend],
                      static_cast<int>(next), static_cast<int>(steps_.size()),
                      estimate_.left_s(steps_, next));
      const auto began = Clock::now();
      const Measured measured = measure(step);
      const double mean_s = measured.total_s / static_cast<double>(measured.times.size());
      estimate_.note(step, mean_s, measured.total_s, seconds_between(began, Clock::now()));
      report(step, measured);
      wrong_ += measured.wrong;
    }
    return wrong_;
  }

  // Ends all fabrics. A barrier over each of them keeps a rank from exiting while another still
  // waits for it.
  void finish() {
    std::vector<Fabric*> all;
    for (const auto& fabric : backends_.fabrics) all.push_back(fabric.get());
    if (backends_.meeting) all.push_back(backends_.meeting.get());
    for (Fabric* fabric : all) fabric->run(Operation::kBarrier);
    for (Fabric* fabric : all) fabric->finish();
  }

 private:
  // Plans all steps. The backend changes fastest, so that all backends run under the same
  // conditions. Leaves out operations that a backend does not support.
  void plan() {
    for (const auto& name : options_.operations) {
      const Operation operation = *operation_of(name);
      const auto sizes =
          sizes_of(operation, world_.size, options_.min, options_.max, options_.factor);
      std::vector<std::size_t> able;
      for (std::size_t i = 0; i < backends_.names.size(); ++i) {
        std::string why = refusal(*backends_.fabrics[i], operation);
        if (why.empty() && sizes.empty())
          why = "no message size from " + size_text(options_.min) + " to " +
                size_text(options_.max) + " has at least one element for each of " +
                std::to_string(world_.size) + " ranks";
        if (why.empty())
          able.push_back(i);
        else
          skip(name, backends_.names[i], why);
      }
      add_steps(operation, sizes, able);
    }
  }

  void add_steps(Operation operation, const std::vector<std::int64_t>& sizes,
                 const std::vector<std::size_t>& able) {
    const auto most = [this](std::size_t backend) { return most_bytes(backends_.names[backend]); };
    for (std::size_t at = 0; at < sizes.size(); ++at) {
      for (const std::size_t i : able) {
        if (sizes[at] > most(i)) continue;
        const bool last = at + 1 == sizes.size() || sizes[at + 1] > most(i);
        steps_.push_back({operation, i, sizes[at], last});
      }
    }
    for (const std::size_t i : able)
      if (!sizes.empty() && sizes.back() > most(i))
        skip(name_of(operation), backends_.names[i],
             "sizes above " + size_text(most(i)) +
                 " were left out: MPI's own calls cannot send more than 2147483647 elements; the "
                 "mpi backend can");
  }

  void skip(const std::string& operation, const std::string& backend,
            const std::string& why) const {
    lines_.print("skipped", {{"operation", operation}, {"backend", backend}, {"why", why}});
  }

  // Collective. Returns why this backend does not support the operation, or "" if it does. Tries
  // the operation with one element per rank.
  [[nodiscard]] std::string refusal(Fabric& fabric, Operation operation) const {
    std::string why;
    try {
      const std::int64_t bytes = operation == Operation::kBarrier
                                     ? 0
                                     : static_cast<std::int64_t>(sizeof(float)) * world_.size;
      fabric.allocate(shape_of(operation, world_.size, bytes));
      fabric.fill(0);
      fabric.run(operation);
    } catch (const Unsupported& error) {
      why = one_line(error.what());
      if (why.empty()) why = "the backend does not support this operation";
    }
    fabric.allocate({});
    const auto all = gather_texts(fabric, why);
    const auto first = std::ranges::find_if(all, [](const auto& text) { return !text.empty(); });
    return first == all.end() ? "" : *first;
  }

  Measured measure(const Step& step) {
    Fabric& fabric = *backends_.fabrics[step.backend];
    const Shape shape = shape_of(step.operation, world_.size, step.bytes);
    fabric.allocate(shape);
    double call_s = 0;
    std::int64_t wrong = run_checked(fabric, step.operation, shape, 0, call_s);
    fabric.fill(0);  // otherwise repeated sums in place would grow without limit
    call_s = warm_up(fabric, step.operation, call_s);
    Measured measured = timed(fabric, step.operation, agreed(fabric, iterations(call_s)));
    wrong += run_checked(fabric, step.operation, shape, 1, call_s);
    fabric.allocate({});  // frees the memory, so that only one backend uses it at a time
    for (const double each : gather_number(fabric, static_cast<double>(wrong)))
      measured.wrong += static_cast<std::int64_t>(each);
    return measured;
  }

  // Runs the operation without measuring it for the result, and returns an estimate of the seconds
  // per call. Doubles the number of calls until they take long enough, because on a busy host a few
  // calls may take a thousand times as long as the others. Uses the slowest rank's time, because a
  // rank that only sends may finish early. Rank 0 decides for all ranks.
  double warm_up(Fabric& fabric, Operation operation, double call_s) const {
    int bunch = options_.warmup >= 0 ? options_.warmup : 1;
    for (;;) {
      const auto began = Clock::now();
      for (int i = 0; i < bunch; ++i) fabric.run(operation);
      double took_s = seconds_between(began, Clock::now());
      fabric.largest({&took_s, 1});
      if (bunch > 0) call_s = took_s / bunch;
      const bool enough =
          options_.warmup >= 0 || bunch >= kMostWarm || took_s >= kWarmPart * options_.seconds / 2;
      bunch = agreed(fabric, enough ? 0 : bunch * 2);
      if (bunch == 0) return call_s;
    }
  }

  [[nodiscard]] int iterations(double call_s) const {
    if (options_.iterations > 0) return options_.iterations;
    return static_cast<int>(std::clamp(options_.seconds / std::max(call_s, 1e-9),
                                       static_cast<double>(kLeast), static_cast<double>(kMost)));
  }

  // Collective. Returns rank 0's number on all ranks.
  static int agreed(Fabric& fabric, int number) {
    std::int64_t value = number;
    fabric.from_first({&value, 1});
    return static_cast<int>(value);
  }

  // Runs the iterations one after the other, with nothing between them but reading the clock.
  Measured timed(Fabric& fabric, Operation operation, int count) {
    Measured measured;
    std::vector<double> times(static_cast<std::size_t>(count) + 1);
    std::vector<DeviceBytes> before;
    const bool counts = world_.local_rank == 0;
    if (counts) before = read_counters(options_.system);
    fabric.run(Operation::kBarrier);
    const auto began = Clock::now();
    auto last = began;
    for (int i = 0; i < count; ++i) {
      fabric.run(operation);
      const auto now = Clock::now();
      times[static_cast<std::size_t>(i)] = seconds_between(last, now);
      last = now;
    }
    times.back() = seconds_between(began, last);
    fabric.largest(times);  // Also a barrier: all ranks are done when the counters are read.
    if (counts) measured.moved = difference(before, read_counters(options_.system));
    measured.total_s = times.back();
    times.pop_back();
    std::ranges::sort(times);
    measured.times = std::move(times);
    return measured;
  }

  void report(const Step& step, const Measured& measured) {
    const std::string name = name_of(step.operation);
    const std::string& backend = backends_.names[step.backend];
    const double mean_s = measured.total_s / static_cast<double>(measured.times.size());
    const double algbw = mean_s > 0 ? static_cast<double>(step.bytes) / mean_s : 0;
    const auto at = [&](double part) { return percentile(measured.times, part); };
    const Json times = {{"min", measured.times.front()},
                        {"p25", at(0.25)},
                        {"median", at(0.5)},
                        {"p75", at(0.75)},
                        {"p95", at(0.95)},
                        {"p99", at(0.99)}};
    lines_.print("measurement",
                 {{"operation", name},
                  {"backend", backend},
                  {"ranks", world_.size},
                  {"bytes", step.bytes},
                  {"iterations", measured.times.size()},
                  {"mean_s", mean_s},
                  {"times", times},
                  {"algbw", algbw},
                  {"busbw", algbw * bus_factor(step.operation, world_.size)},
                  {"wrong", measured.wrong},
                  {"rdma", mostly_rdma(measured.moved, least_sent(step, measured))}});
    if (step.last) report_traffic(step, measured);
  }

  // Returns a lower bound for the bytes that this host has sent if there are several hosts: what
  // each of only two ranks would send.
  static std::int64_t least_sent(const Step& step, const Measured& measured) {
    const double part = bus_factor(step.operation, 2);
    const auto iterations = static_cast<double>(measured.times.size());
    return static_cast<std::int64_t>(part * static_cast<double>(step.bytes) * iterations);
  }

  // Reports the traffic of every host, as measured by the host's first rank.
  void report_traffic(const Step& step, const Measured& measured) {
    Json devices = Json::array();
    for (const auto& device : measured.moved)
      devices.push_back({device.name, device.rdma, device.sent, device.received});
    const auto all = gather_texts(*backends_.fabrics[step.backend],
                                  world_.local_rank == 0 ? json_text(devices) : std::string());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].empty()) continue;
      lines_.print("traffic", {{"rank", rank},
                               {"backend", backends_.names[step.backend]},
                               {"operation", name_of(step.operation)},
                               {"devices", named_devices(all[rank])}});
    }
  }

  const CollectivesOptions& options_;
  const World& world_;
  const Lines& lines_;
  Backends backends_;
  std::vector<Step> steps_;
  Estimate estimate_;
  std::int64_t wrong_ = 0;
};

}  // namespace

std::int64_t measure_collectives(const CollectivesOptions& options, const World& world,
                                 const Lines& lines) {
  Collectives collectives(options, world, lines);
  const std::int64_t wrong = collectives.run();
  lines.print("end", Json::object());
  collectives.finish();
  return wrong;
}

}  // namespace muster::programs::bench
