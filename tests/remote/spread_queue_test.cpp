#include "remote/spread_queue.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace muster::remote {
namespace {

using std::chrono::seconds;

// TimedHosts on a clock that does not wait. `takes` says how long a move takes, and `fails` which
// moves do not succeed.
class TimedHosts {
 public:
  TimedHosts(std::size_t count, std::size_t fan_out) : queue(count, fan_out, 1'000'000, now) {}

  void run() {
    while (!queue.over()) {
      while (const auto move = queue.next(now)) start(*move);
      if (running_.empty()) {
        now += seconds(1);
      } else {
        end_first();
      }
      ASSERT_LT(now - SpreadQueue::Time(), seconds(100'000)) << "it never ends";
    }
  }

  SpreadQueue::Time now;
  SpreadQueue queue;
  std::function<int(const SpreadMove&)> takes = [](const SpreadMove&) { return 10; };
  std::function<bool(const SpreadMove&)> fails = [](const SpreadMove&) { return false; };
  std::vector<SpreadMove> moves;
  std::set<std::size_t> hold;
  std::size_t most_at_a_time = 0;
  std::map<std::size_t, SpreadQueue::Time> received = {};

 private:
  struct Running {
    SpreadMove move;
    SpreadQueue::Time end;
    bool too_late = false;
    bool sent = false;
  };

  void start(const SpreadMove& move) {
    moves.push_back(move);
    if (move.source) {
      EXPECT_TRUE(hold.contains(*move.source)) << "a source without a verified copy";
      for (const Running& other : running_) {
        if (!other.sent) EXPECT_NE(other.move.source, move.source);
      }
    }
    const auto length = std::chrono::steady_clock::duration(seconds(takes(move)));
    running_.push_back({move, now + std::min(length, queue.limit()), length > queue.limit()});
    most_at_a_time = std::max(most_at_a_time, running_.size());
  }

  // Goes on to the next second, and ends what ends then.
  void end_first() {
    now += seconds(1);
    for (std::size_t i = 0; i < running_.size();) {
      // In its last seconds, a host verifies its copy.
      if (!running_[i].sent && running_[i].end <= now + seconds(3)) {
        running_[i].sent = true;
        queue.sent(running_[i].move.host);
      }
      const Running one = running_[i];
      if (one.end > now) {
        ++i;
        continue;
      }
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      const bool ok = !one.too_late && !fails(one.move);
      if (ok) {
        hold.insert(one.move.host);
        received[one.move.host] = now;
      }
      queue.ended(one.move.host, ok, now);
    }
  }

  std::vector<Running> running_;
};

std::size_t from_here(const TimedHosts& hosts) {
  return static_cast<std::size_t>(std::count_if(
      hosts.moves.begin(), hosts.moves.end(), [](const SpreadMove& move) { return !move.source; }));
}

TEST(SpreadQueue, HostsWithFilesSendThemOn) {
  TimedHosts hosts(64, 32);
  hosts.run();
  EXPECT_EQ(hosts.hold.size(), 64U);
  EXPECT_EQ(from_here(hosts), SpreadQueue::kFromHere);
  EXPECT_EQ(hosts.moves.size(), 64U);
  EXPECT_LE(hosts.most_at_a_time, 32U);
  // 4, 8, 16, 32, 64 hosts
  EXPECT_LE(hosts.now - SpreadQueue::Time(), seconds(60));
}

TEST(SpreadQueue, TheFanOutLimitsEverything) {
  for (const std::size_t fan_out : {1, 2, 3, 5}) {
    TimedHosts hosts(10, fan_out);
    hosts.run();
    EXPECT_EQ(hosts.hold.size(), 10U);
    EXPECT_LE(hosts.most_at_a_time, fan_out);
    EXPECT_LE(from_here(hosts), std::min(fan_out, SpreadQueue::kFromHere));
  }
}

TEST(SpreadQueue, ASlowFirstHostStopsNobody) {
  TimedHosts hosts(20, 8);
  hosts.takes = [](const SpreadMove& move) { return move.host == 0 ? 1000 : 10; };
  hosts.run();
  EXPECT_EQ(hosts.hold.size(), 19U) << "the slow host is given up, and left to the ordinary copy";
  for (const auto& [host, time] : hosts.received) {
    EXPECT_LE(time - SpreadQueue::Time(), seconds(100)) << host;
  }
}

TEST(SpreadQueue, IfAllFirstHostsHangOthersFollow) {
  TimedHosts hosts(20, 8);
  hosts.takes = [](const SpreadMove& move) { return move.host < 4 ? 1000 : 10; };
  hosts.run();
  EXPECT_EQ(hosts.hold.size(), 16U);
  EXPECT_LE(from_here(hosts), 6U);
  EXPECT_LE(hosts.received.at(19) - SpreadQueue::Time(), seconds(120));
}

TEST(SpreadQueue, ASourceThatFailsTwiceIsNotUsedAgain) {
  TimedHosts hosts(30, 8);
  hosts.fails = [](const SpreadMove& move) { return move.source == 1U; };
  hosts.run();
  EXPECT_EQ(hosts.hold.size(), 30U);
  EXPECT_EQ(std::count_if(hosts.moves.begin(), hosts.moves.end(),
                          [](const SpreadMove& move) { return move.source == 1U; }),
            static_cast<std::ptrdiff_t>(SpreadQueue::kFailuresOfHost));
}

TEST(SpreadQueue, AHostThatNoHostReachesIsLeftToTheCaller) {
  TimedHosts hosts(30, 8);
  hosts.fails = [](const SpreadMove& move) { return move.source && move.host == 9; };
  hosts.run();
  EXPECT_EQ(hosts.hold.size(), 29U);
  std::set<std::size_t> tried;
  for (const SpreadMove& move : hosts.moves) {
    if (move.host == 9) tried.insert(*move.source);
  }
  EXPECT_EQ(tried.size(), SpreadQueue::kFailuresOfHost) << "different sources";
}

TEST(SpreadQueue, IfHostsCannotReachEachOtherItSoonEnds) {
  TimedHosts hosts(64, 16);
  hosts.fails = [](const SpreadMove& move) { return move.source.has_value(); };
  hosts.run();
  EXPECT_EQ(from_here(hosts), SpreadQueue::kFromHere);
  EXPECT_LE(hosts.moves.size(), 2 * SpreadQueue::kFromHere + SpreadQueue::kFailuresOfAll);
}

TEST(SpreadQueue, LargeFilesDoNotMakeItImpatient) {
  TimedHosts hosts(64, 16);
  hosts.takes = [](const SpreadMove&) { return 50; };
  hosts.run();
  EXPECT_LE(from_here(hosts), SpreadQueue::kFromHere + 1);
  EXPECT_EQ(hosts.hold.size(), 64U);
}

}  // namespace
}  // namespace muster::remote
