// Measures pairs of ranks. The lower rank leads: it decides what comes next and tells the other by
// message.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <vector>

#include <nlohmann/json.hpp>

#include "programs/bench/counters.hpp"
#include "programs/bench/exchange.hpp"
#include "programs/bench/measure.hpp"
#include "programs/bench/modules.hpp"

namespace muster::programs::bench {
namespace {

using PairClock = std::chrono::steady_clock;

constexpr std::size_t kPing = 8;  // bytes
constexpr std::size_t kFirstMessage = std::size_t{64} << 10;
constexpr std::size_t kLargestMessage = std::size_t{64} << 20;
constexpr double kLongEnough = 0.02;  // seconds per message
// Seconds per message; start-up costs of memory and windows are then negligible.
constexpr double kVeryLong = 0.1;
constexpr int kFewestMessages = 5;  // the result is their median
constexpr int kFewestPings = 20;
constexpr int kMostPings = 200;
constexpr double kPingSeconds = 0.1;

enum class Order : std::int64_t { kEcho, kTake, kGive, kDone };

// A number of messages and their size.
struct Command {
  Order order{};
  std::int64_t bytes = 0;
  std::int64_t count = 0;
};

struct Link {
  double to_other = 0;    // bytes per second
  double from_other = 0;  // bytes per second
  double latency_s = 0;
  double resent = 0;  // share of the TCP segments that this side had to resend
};

double pair_seconds(PairClock::time_point from) {
  return std::chrono::duration<double>(PairClock::now() - from).count();
}

// The side that decides and measures.
class Leader {
 public:
  Leader(Fabric& fabric, int other, double seconds)
      : fabric_(fabric), other_(other), seconds_(seconds) {}

  Link measure() {
    Link link;
    link.latency_s = latency();
    link.to_other = bandwidth(Order::kTake);
    link.from_other = bandwidth(Order::kGive);
    command({.order = Order::kDone});
    return link;
  }

 private:
  // Sends a command. When this returns, the other side has its memory ready.
  void command(const Command& command) {
    fabric_.send(&command, sizeof(command), other_);
    fabric_.receive(word_.data(), word_.size(), other_);
  }

  double latency() {
    std::array<char, kPing> ping{};
    std::vector<double> times;
    const auto round_trips = [&](int count) {
      command({Order::kEcho, kPing, count});
      for (int i = 0; i < count; ++i) {
        const auto began = PairClock::now();
        fabric_.send(ping.data(), ping.size(), other_);
        fabric_.receive(ping.data(), ping.size(), other_);
        times.push_back(pair_seconds(began));
      }
    };
    round_trips(2);  // establishes the connection
    times.clear();
    const auto began = PairClock::now();
    round_trips(kFewestPings);
    while (static_cast<int>(times.size()) < kMostPings && pair_seconds(began) < kPingSeconds)
      round_trips(kFewestPings);
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2] / 2;
  }

  // Exchanges messages and returns the time of each. This includes a short word in the other
  // direction: the acknowledgement of a message that was sent, or the request for one that is
  // received.
  std::vector<double> messages_s(Order order, std::size_t bytes, std::int64_t count) {
    memory_.resize(bytes);
    command({order, static_cast<std::int64_t>(bytes), count});
    std::vector<double> times;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto began = PairClock::now();
      if (order == Order::kTake) {
        fabric_.send(memory_.data(), bytes, other_);
        fabric_.receive(word_.data(), word_.size(), other_);
      } else {
        fabric_.send(word_.data(), word_.size(), other_);
        fabric_.receive(memory_.data(), bytes, other_);
      }
      times.push_back(pair_seconds(began));
    }
    return times;
  }

  // Returns bytes per second. Uses the median time of a message, because a host that pauses for a
  // moment does not make the link slow. Lost frames are counted separately.
  double bandwidth(Order order) {
    std::size_t bytes = kFirstMessage;
    double message_s = messages_s(order, bytes, 1).front();
    while (message_s < kLongEnough && bytes < kLargestMessage) {
      bytes *= 2;
      message_s = messages_s(order, bytes, 1).front();
    }
    // The first message of a size touches new memory on both sides, so it does not count.
    if (message_s < kVeryLong) message_s = messages_s(order, bytes, 1).front();
    std::vector<double> times;
    double took_s = 0;
    while (took_s < seconds_ || (times.size() < kFewestMessages && took_s < 5 * seconds_)) {
      // Exchange as many messages as should fill the remaining time.
      const double rest = (seconds_ - took_s) / std::max(message_s, 1e-6);
      const auto more = static_cast<std::int64_t>(std::clamp(rest, 1.0, 1e6));
      for (const double one : messages_s(order, bytes, more)) {
        times.push_back(one);
        took_s += one;
      }
      message_s = took_s / static_cast<double>(times.size());
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return static_cast<double>(bytes) / *middle;
  }

  Fabric& fabric_;
  int other_;
  double seconds_;
  std::array<char, 4> word_{};
  std::vector<char> memory_;
};

// The side that follows the leader's commands.
void follow(Fabric& fabric, int leader) {
  std::array<char, 4> word{};
  std::vector<char> memory;
  for (;;) {
    Command command;
    fabric.receive(&command, sizeof(command), leader);
    const auto bytes = static_cast<std::size_t>(command.bytes);
    memory.resize(bytes);
    fabric.send(word.data(), word.size(), leader);
    if (command.order == Order::kDone) return;
    for (std::int64_t i = 0; i < command.count; ++i) {
      if (command.order == Order::kGive) {
        fabric.receive(word.data(), word.size(), leader);
        fabric.send(memory.data(), bytes, leader);
      } else {
        fabric.receive(memory.data(), bytes, leader);
        const bool echo = command.order == Order::kEcho;
        fabric.send(echo ? memory.data() : word.data(), echo ? bytes : word.size(), leader);
      }
    }
  }
}

// Measures this rank's pair, if the round has one, and returns the result. Only the leader of a
// pair measures speed.
Link take_part(Fabric& fabric, const Round& round, double seconds) {
  Link link;
  const Segments before = count_segments();
  for (const auto& [one, other] : round) {
    const auto [leader, follower] = std::minmax(one, other);
    if (fabric.rank() == leader) link = Leader(fabric, follower, seconds).measure();
    if (fabric.rank() == follower) follow(fabric, leader);
  }
  link.resent = resent_share(before, count_segments());
  return link;
}

void report_round(const Round& round, const std::vector<Link>& links, bool again,
                  const Lines& lines) {
  for (const auto& [one, other] : round) {
    const Link& link = links[static_cast<std::size_t>(std::min(one, other))];
    const double others = links[static_cast<std::size_t>(std::max(one, other))].resent;
    const bool turned = one > other;
    lines.print("pair", {{"one", one},
                         {"other", other},
                         {"forward", turned ? link.from_other : link.to_other},
                         {"backward", turned ? link.to_other : link.from_other},
                         {"latency_s", link.latency_s},
                         {"resent", std::max(link.resent, others)},
                         {"again", again}});
  }
}

}  // namespace

void measure_pairs(const PairsOptions& options, const World& world, const Lines& lines) {
  const auto rounds = parse_rounds(options.rounds, world.size);
  // Waiting ranks poll. Where hosts share CPUs (virtual machines, the lab), polling slows down the
  // ranks that measure, and good pairs look slow. This must be set before MPI is initialised.
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  const auto made = make_fabric(options.backend, world);
  Fabric& fabric = *made;
  const auto began = PairClock::now();
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const auto left = static_cast<double>(rounds.size() - i);
    lines.progress("round " + std::to_string(i + 1) + " of " + std::to_string(rounds.size()) +
                       ", " + options.backend,
                   static_cast<int>(i), static_cast<int>(rounds.size()),
                   i == 0 ? -1 : pair_seconds(began) / static_cast<double>(i) * left);
    fabric.run(Operation::kBarrier);
    const Link own = take_part(fabric, rounds[i], options.seconds);
    std::vector<Link> links(static_cast<std::size_t>(world.size));
    fabric.gather(&own, sizeof(own), links.data());
    report_round(rounds[i], links, options.again, lines);
  }
  lines.print("end", Json::object());
  fabric.run(Operation::kBarrier);
  fabric.finish();
}

}  // namespace muster::programs::bench
