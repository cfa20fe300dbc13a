// Decides whether the network is as fast as it should be. Derives an expected value from the hosts'
// facts, compares it with the measured one, and explains the result. Pure.
#pragma once

#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// A measured value of at least this share of the expected one is good.
constexpr double kGoodShare = 0.8;

// What a link of these hosts can carry, in payload bytes per second.
struct LinkExpectation {
  double bytes_per_second = 0;  // 0: unknown
  // Where the value comes from, such as "n3's eth0 reports 1 Gbit/s, of which TCP with MTU 1500 can
  // use 94 %", or why it is unknown.
  std::string why = {};
};
// Returns the speed of the slowest host's link. If `given` (bytes per second) is not 0, it replaces
// what the hosts report.
[[nodiscard]] LinkExpectation expected_link(const Results& results, double given);

// Returns the bus bandwidth that a link with this rate allows. With several ranks per host, an
// all-to-all sends more through the host's link than other operations do.
[[nodiscard]] double expected_busbw(const std::string& operation, int ranks, int hosts,
                                    double link_bytes_per_second);

// Returns all verdicts on the results, including a prominent warning if the hosts have RDMA but the
// bytes went over TCP.
[[nodiscard]] std::vector<Judgement> judge(const Results& results, double given);

}  // namespace muster::bench
