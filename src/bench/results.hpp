// Results: what a bench measured, on what, and what was made of it. A plain value with one JSON
// form, whose schema has a number: docs/bench.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

namespace muster::bench {

constexpr int kSchema = 1;

// Of the times of single iterations, each that of the slowest rank; seconds.
struct Times {
  double min = 0;
  double p25 = 0;
  double median = 0;
  double p75 = 0;
  double p95 = 0;
  double p99 = 0;
};

// One operation at one size. Bandwidths are those of nccl-tests, bytes a second, from the mean.
struct Measurement {
  std::string operation;   // "all-reduce"
  std::string backend;     // "bare" (MPI itself), "mpi", "gloo", "nccl"
  int ranks = 0;           // that took part
  std::int64_t bytes = 0;  // as nccl-tests counts them; 0: a barrier
  int iterations = 0;
  double mean_s = 0;  // all iterations one behind the other, divided by their number
  Times times;
  double algbw = 0;
  double busbw = 0;
  std::int64_t wrong = 0;  // elements that differed from what they must be
  bool rdma = false;       // most of its bytes left rank 0's host through an RDMA device
};

struct Skipped {
  std::string operation;
  std::string backend;
  std::string why;
};

// Bytes that a host's network devices counted while the largest size was measured.
struct Traffic {
  std::string host;
  std::string backend;
  std::string operation;
  struct Device {
    std::string name;   // "eth0", "mlx5_0:1"
    bool rdma = false;  // else a network interface
    std::int64_t sent = 0;
    std::int64_t received = 0;
  };
  std::vector<Device> devices = {};
};

// Two hosts, one rank each, while other pairs measured at the same time. Bytes a second; seconds.
struct Pair {
  std::string one;
  std::string other;
  double forward = 0;    // from one to other
  double backward = 0;   // from other to one
  double latency_s = 0;  // half a round trip of 8 bytes, median
  double resent = 0;     // share of TCP's segments that an end had to send again; the worse end's
  bool again = false;    // to be sure of what was found first
};

// What may be worse than with the others.
enum class Aspect { kBandwidth, kLatency, kLoss };

// A host or a link that is slow, by comparison with the others.
struct Suspect {
  std::vector<std::string> hosts;  // one: the host; two: the link between them
  std::string what = {};           // one sentence with the numbers
  Aspect aspect = Aspect::kBandwidth;
  bool confirmed = false;  // it was slow again with a host that is known to be good
};

// A training on so many hosts.
struct Training {
  std::string model;  // "resnet50", "mlp"
  std::string backend;
  int hosts = 0;
  int ranks = 0;
  int steps = 0;
  std::int64_t samples = 0;  // of all ranks in a step
  double step_s = 0;         // median, with the exchange of gradients
  double compute_s = 0;      // median, without it
  double backward_s = 0;     // of compute_s, what may hide it
  std::int64_t parameters = 0;
  std::int64_t gradient_bytes = 0;
};

struct Judgement {
  enum class Outcome { kPass, kFail, kUnknown };
  Outcome outcome = Outcome::kUnknown;
  std::string about;      // "all-reduce of 4 hosts over TCP"
  double expected = 0;    // bytes a second; 0: nobody knows
  double measured = 0;    // likewise
  std::string text = {};  // the reason in words, and what to do
};

struct HostFacts {
  std::string name;
  std::string os = {};
  std::string kernel = {};
  std::string cpu = {};
  int cores = 0;  // that it may use
  std::int64_t memory_bytes = 0;
  int ranks = 0;
  std::string interface = {};
  std::string address = {};
  int mtu = 0;
  int speed_mbit = -1;    // -1: not told
  std::string rdma = {};  // "mlx5_0, 100 Gb/sec (4X EDR)"; empty: none is used
};

struct Results {
  std::string kind;          // "collectives", "pairs", "ddp"
  std::string muster;        // version
  std::string when;          // UTC, "2026-11-15T21:43:19Z"
  std::string command;       // exact
  std::string engine;        // "Open MPI 5.0.11"; the first where there were several starts
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
  std::string cut_short = {};  // why not all was measured; empty: all was
};

[[nodiscard]] std::string to_json(const Results& results);             // one line
[[nodiscard]] Result<Results> parse_results(const std::string& json);  // hostile until parsed
[[nodiscard]] nlohmann::ordered_json results_schema();

}  // namespace muster::bench
