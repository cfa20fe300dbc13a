// Whether the network gives what it should: an expected value out of the hosts' facts beside the
// measured one, and the reason in words. Pure.
#pragma once

#include <vector>

#include "bench/results.hpp"

namespace muster::bench {

// From this share of the expected value on, a measured one is good.
constexpr double kGoodShare = 0.8;

// What a link of these hosts can carry, bytes a second of payload.
struct LinkExpectation {
  double bytes_per_second = 0;  // 0: nobody knows
  std::string why = {};         // "n3's eth0 says 1 Gbit/s, TCP at MTU 1500 leaves 94 % of it"
};
// The slowest host's link. `given` (bytes a second, 0: nothing) wins over what the hosts say.
[[nodiscard]] LinkExpectation expected_link(const Results& results, double given);

// The bus bandwidth that a link of that rate allows: with several ranks on a host, an all-to-all
// sends more through the host's link than the other operations do.
[[nodiscard]] double expected_busbw(const std::string& operation, int ranks, int hosts,
                                    double link_bytes_per_second);

// All verdicts on what was measured; loud where there is RDMA and the bytes went over TCP.
[[nodiscard]] std::vector<Judgement> judge(const Results& results, double given);

}  // namespace muster::bench
