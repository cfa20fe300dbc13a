// Results: what a bench measured, on which hosts, and the verdicts. A plain struct with one JSON
// form, whose schema has a number (see docs/bench.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

namespace muster::bench {

constexpr int kSchema = 1;

// Statistics of the times of single iterations, in seconds. The time of an iteration is that of its
// slowest rank.
struct Times {
  double min = 0;
  double p25 = 0;
  double median = 0;
  double p75 = 0;
  double p95 = 0;
  double p99 = 0;
};

// One operation at one size. Bandwidths are defined as in nccl-tests, in bytes per second, and
// computed from the mean.
struct Measurement {
  std::string operation;   // "all-reduce"
  std::string backend;     // "bare" (MPI itself), "mpi", "gloo", "nccl"
  int ranks = 0;           // how many took part
  std::int64_t bytes = 0;  // as nccl-tests counts them; 0 for a barrier
  int iterations = 0;
  double mean_s = 0;  // time of all consecutive iterations, divided by their number
  Times times;
  double algbw = 0;
  double busbw = 0;
  std::int64_t wrong = 0;  // elements with a wrong value
  bool rdma = false;       // most bytes left rank 0's host through an RDMA device
};

struct Skipped {
  std::string operation;
  std::string backend;
  std::string why;
};

// The bytes that a host's network devices counted while the largest size was measured.
struct Traffic {
  std::string host;
  std::string backend;
  std::string operation;
  struct Device {
    std::string name;   // "eth0", "mlx5_0:1"
    bool rdma = false;  // false: a network interface
    std::int64_t sent = 0;
    std::int64_t received = 0;
  };
  std::vector<Device> devices = {};
};

// What two hosts, with one rank each, measured with each other. In the first look, other pairs
// measured at the same time. Rates are in bytes per second.
struct Pair {
  std::string one;
  std::string other;
  double forward = 0;    // from one to other
  double backward = 0;   // from other to one
  double latency_s = 0;  // half a round trip of 8 bytes, median
  // The share of TCP segments that had to be sent again: the larger share of the two ends.
  double resent = 0;
  bool again = false;  // from the second look, which confirms what the first one found
};

// What may be worse than on the other hosts.
enum class Aspect { kBandwidth, kLatency, kLoss };

// A host or a link that is slow compared with the others.
struct Suspect {
  std::vector<std::string> hosts;  // one host, or the two ends of a link
  std::string what = {};           // one sentence with the numbers
  Aspect aspect = Aspect::kBandwidth;
  bool confirmed = false;  // it was slow in the second look too
};

// A training, measured on one number of hosts.
struct Training {
  std::string model;  // "resnet50", "mlp"
  std::string backend;
  int hosts = 0;
  int ranks = 0;
  int steps = 0;
  std::int64_t samples = 0;  // of all ranks together, in one step
  double step_s = 0;         // median, with the exchange of gradients
  double compute_s = 0;      // median, without the exchange of gradients
  double backward_s = 0;     // part of compute_s: the backward pass, which can hide the exchange
  std::int64_t parameters = 0;
  std::int64_t gradient_bytes = 0;
};

struct Judgement {
  enum class Outcome { kPass, kFail, kUnknown };
  Outcome outcome = Outcome::kUnknown;
  std::string about;      // "all-reduce of 4 hosts over TCP"
  double expected = 0;    // bytes per second; 0: unknown
  double measured = 0;    // bytes per second
  std::string text = {};  // the reason in words, and what to do
};

struct HostFacts {
  std::string name;
  std::string os = {};
  std::string kernel = {};
  std::string cpu = {};
  int cores = 0;  // how many cores ranks may use
  std::int64_t memory_bytes = 0;
  int ranks = 0;
  std::string interface = {};
  std::string address = {};
  int mtu = 0;
  int speed_mbit = -1;    // -1: unknown
  std::string rdma = {};  // "mlx5_0, 100 Gb/sec (4X EDR)"; empty if no RDMA is used
};

struct Results {
  std::string kind;          // "collectives", "pairs", "ddp"
  std::string muster;        // version of muster
  std::string when;          // UTC, "2026-11-15T21:43:19Z"
  std::string command;       // as the user typed it
  std::string engine;        // "Open MPI 5.0.11"; of several starts, the one with the most ranks
  std::string network = {};  // "198.18.0.0/16"
  int ranks = 0;
  std::vector<HostFacts> hosts = {};
  std::vector<Measurement> measurements = {};
  std::vector<Skipped> skipped = {};
  std::vector<Traffic> traffic = {};
  std::vector<Pair> pairs = {};
  std::vector<Suspect> suspects = {};
  std::vector<Training> trainings = {};
  std::vector<Judgement> verdicts = {};
  std::string cut_short = {};  // why the bench stopped early; empty if it did not
};

[[nodiscard]] std::string to_json(const Results& results);             // one line
[[nodiscard]] Result<Results> parse_results(const std::string& json);  // rejects invalid input
[[nodiscard]] nlohmann::ordered_json results_schema();

}  // namespace muster::bench
