#include "bench/judge.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/size_text.hpp"
#include "bench/numbers.hpp"
#include "bench/suspects.hpp"

namespace muster::bench {
namespace {

constexpr double kBitsPerMbit = 1e6;
constexpr std::int64_t kLarge = 1 << 20;  // from this size on, bandwidth matters more than latency

// Returns the share of TCP payload in what an Ethernet link carries. Each packet has 52 bytes of
// TCP/IP headers with time stamps, and 38 bytes of Ethernet framing around it.
double tcp_share(int mtu) {
  if (mtu < 576) return 0.9;
  return (mtu - 52.0) / (mtu + 38.0);
}

// Turns "mlx5_0, 100 Gb/sec (4X EDR)" into bits per second.
double rdma_rate(const std::string& text) {
  const std::size_t comma = text.find(", ");
  if (comma == std::string::npos) return 0;
  return 1e9 * std::strtod(text.c_str() + comma + 2, nullptr);
}

bool over_rdma(const Results& results) {
  return std::any_of(results.measurements.begin(), results.measurements.end(),
                     [](const Measurement& one) { return one.rdma; });
}

// Returns the fastest measurement of each backend among the large sizes. Ignores those with fewer
// than `ranks` ranks, which may all be on one host.
std::map<std::string, const Measurement*> best_by_backend(const Results& results,
                                                          const std::string& operation, int ranks) {
  std::map<std::string, const Measurement*> best;
  for (const Measurement& one : results.measurements) {
    if (one.operation != operation || one.bytes < kLarge || one.ranks != ranks) continue;
    const Measurement*& place = best[one.backend];
    if (place == nullptr || one.busbw > place->busbw) place = &one;
  }
  return best;
}

std::vector<std::string> operations_in(const Results& results) {
  std::vector<std::string> names;
  for (const Measurement& one : results.measurements) {
    if (std::find(names.begin(), names.end(), one.operation) == names.end()) {
      names.push_back(one.operation);
    }
  }
  return names;
}

// Returns the largest number of ranks that took part. With --table there are measurements with
// several numbers.
int most_ranks(const Results& results, const std::string& operation) {
  int most = 0;
  for (const Measurement& one : results.measurements) {
    if (one.operation == operation) most = std::max(most, one.ranks);
  }
  return most;
}

Judgement judge_operation(const Results& results, const std::string& operation,
                          const LinkExpectation& link) {
  const auto hosts = static_cast<int>(results.hosts.size());
  const int ranks = most_ranks(results, operation);
  const auto by_backend = best_by_backend(results, operation, ranks);
  const Measurement* best = nullptr;
  for (const auto& [backend, one] : by_backend) {
    if (best == nullptr || one->busbw > best->busbw) best = one;
  }
  Judgement verdict{.about = fmt::format("{} on {} hosts", operation, hosts)};
  if (best == nullptr) {
    verdict.text =
        "no message of 1 MiB or more was measured, so there is no bandwidth to judge; measure "
        "larger messages with --max 16M";
    return verdict;
  }
  verdict.about += fmt::format(", {} at {}", best->backend, size_text(best->bytes));
  verdict.measured = best->busbw;
  if (link.bytes_per_second <= 0) {
    verdict.text = link.why;
    return verdict;
  }
  verdict.expected = expected_busbw(operation, ranks, hosts, link.bytes_per_second);
  const double share = verdict.measured / verdict.expected;
  const bool good = share >= kGoodShare;
  verdict.outcome = good ? Judgement::Outcome::kPass : Judgement::Outcome::kFail;
  verdict.text = fmt::format("{}; the measured speed is {:.0f} % of the expected speed", link.why,
                             100 * share);
  if (!good) {
    verdict.text +=
        ". Perhaps muster chose a slower network (-v says why), one host or link slows down the "
        "others (muster bench pairs finds it), or a virtual interface reports more than it can "
        "carry (--expect 1gbit sets the right value)";
  } else if (share > 1.2) {
    verdict.text +=
        ": the link carries more than it reports, or some traffic did not go through it";
  }
  for (const auto& [backend, one] : by_backend) {
    if (good && one->busbw < kGoodShare * verdict.expected) {
      verdict.text +=
          fmt::format("; {} reaches only {:.0f} %", backend, 100 * one->busbw / verdict.expected);
    }
  }
  return verdict;
}

// Finds backends that used TCP although RDMA was available, according to the counters of the
// network devices.
std::vector<Judgement> judge_traffic(const Results& results) {
  std::map<std::string, std::string> rdma_of;
  for (const HostFacts& host : results.hosts) {
    if (!host.rdma.empty()) rdma_of[host.name] = host.rdma;
  }
  std::map<std::string, std::vector<std::string>> evidence;  // what was seen, by backend
  std::map<std::string, double> bytes;
  for (const Traffic& traffic : results.traffic) {
    if (!rdma_of.contains(traffic.host)) continue;
    std::int64_t rdma = 0;
    std::int64_t plain = 0;
    std::string through;
    for (const Traffic::Device& device : traffic.devices) {
      (device.rdma ? rdma : plain) += device.sent;
      if (!device.rdma && device.sent > 0) through = device.name;
    }
    if (plain <= rdma || plain < kLarge) continue;
    bytes[traffic.backend] += static_cast<double>(plain);
    evidence[traffic.backend].push_back(
        fmt::format("{} sent {} MiB through {} and {} MiB through {}", traffic.host, plain >> 20,
                    through, rdma >> 20, rdma_of[traffic.host]));
  }
  std::vector<Judgement> verdicts;
  for (const auto& [backend, seen] : evidence) {
    verdicts.push_back(
        {.outcome = backend == "gloo" ? Judgement::Outcome::kUnknown : Judgement::Outcome::kFail,
         .about = fmt::format("RDMA IS AVAILABLE BUT NOT USED by {}", backend),
         .text = fmt::format(
             "according to the interfaces' counters, {}. {}", fmt::join(seen, "; "),
             backend == "gloo" ? "Gloo can use only TCP: use NCCL, or an MPI with UCX"
             : backend == "nccl"
                 ? "NCCL_DEBUG=INFO shows why; check NCCL_IB_DISABLE, NCCL_IB_HCA, /dev/infiniband "
                   "in the container and the memlock limit"
                 : "the MPI used TCP: for RDMA it needs UCX or OFI with verbs; check ompi_info, "
                   "OMPI_MCA_pml=ucx, /dev/infiniband and the memlock limit")});
  }
  return verdicts;
}

Judgement judge_correctness(const Results& results) {
  Judgement verdict{.about = "the data"};
  std::vector<std::string> wrong;
  for (const Measurement& one : results.measurements) {
    if (one.wrong == 0) continue;
    wrong.push_back(fmt::format("{} over {} at {} bytes: {} elements", one.operation, one.backend,
                                one.bytes, one.wrong));
  }
  if (wrong.empty()) {
    verdict.outcome = Judgement::Outcome::kPass;
    verdict.text = "every element of every result was correct";
    return verdict;
  }
  verdict.outcome = Judgement::Outcome::kFail;
  verdict.text = fmt::format(
      "WRONG RESULTS: {}. Do not train on these hosts: faulty memory, a faulty network card or a "
      "broken library corrupts gradients without an error",
      fmt::join(wrong, "; "));
  return verdict;
}

// Returns the pair of a bench with two hosts if their link loses frames. With only two hosts no
// link is ever a suspect, because there is nothing to compare it with, but loss needs no
// comparison.
const Pair* only_link_with_loss(const Results& results) {
  if (results.hosts.size() != 2) return nullptr;
  const auto found = std::find_if(results.pairs.begin(), results.pairs.end(),
                                  [](const Pair& pair) { return pair.resent > kLeastLoss; });
  return found == results.pairs.end() ? nullptr : &*found;
}

Judgement judge_pairs(const Results& results, const LinkExpectation& link) {
  std::vector<double> rates;
  for (const Pair& pair : results.pairs) {
    if (!pair.again) rates.push_back(std::min(pair.forward, pair.backward));
  }
  std::sort(rates.begin(), rates.end());
  Judgement verdict{
      .about = fmt::format("{} pairs of {} hosts", rates.size(), results.hosts.size()),
      .expected = link.bytes_per_second,
      .measured = rates.empty() ? 0 : rates[rates.size() / 2]};
  std::vector<std::string> named;
  for (const Suspect& suspect : results.suspects) {
    if (suspect.confirmed) named.push_back(fmt::format("{}", fmt::join(suspect.hosts, " - ")));
  }
  const double share = link.bytes_per_second > 0 ? verdict.measured / link.bytes_per_second : 0;
  const std::string others =
      results.suspects.empty()
          ? "no pair is slower than the others"
          : "some pairs were slow at first but not when measured again; see above";
  if (!named.empty()) {
    verdict.outcome = Judgement::Outcome::kFail;
    verdict.text =
        fmt::format("slower than the others, also when measured again: {}", fmt::join(named, ", "));
  } else if (const Pair* link_with_loss = only_link_with_loss(results)) {
    verdict.outcome = Judgement::Outcome::kFail;
    verdict.text = fmt::format(
        "the link between {} and {} loses frames: {} of TCP's segments had to be sent again. Check "
        "the cables, the switch ports and the error counters of both interfaces (ip -s link)",
        link_with_loss->one, link_with_loss->other, percent(link_with_loss->resent));
  } else if (rates.empty()) {
    verdict.text = "no pair was measured";
  } else if (!results.cut_short.empty()) {
    verdict.text =
        "the measurement was cut short: some pairs were not measured, or not a second time";
  } else if (link.bytes_per_second <= 0) {
    verdict.text = fmt::format("{}; {}", others, link.why);
  } else {
    verdict.outcome = share >= kGoodShare ? Judgement::Outcome::kPass : Judgement::Outcome::kFail;
    verdict.text = fmt::format("{}; {}; the median pair reaches {:.0f} % of the expected speed",
                               others, link.why, 100 * share);
  }
  return verdict;
}

}  // namespace

LinkExpectation expected_link(const Results& results, double given) {
  if (given > 0) {
    return {.bytes_per_second = given,
            .why = fmt::format("--expect sets {} per link", speed(given))};
  }
  const bool rdma = over_rdma(results);
  const bool may_be_rdma = std::any_of(results.hosts.begin(), results.hosts.end(),
                                       [](const HostFacts& host) { return !host.rdma.empty(); });
  if (results.kind == "pairs" && may_be_rdma) {
    return {.why =
                "the hosts have RDMA, and muster does not know whether the bytes of pairs went "
                "over it; pass the speed that a link should have: --expect 100gbit"};
  }
  LinkExpectation slowest;
  for (const HostFacts& host : results.hosts) {
    double bits = rdma ? rdma_rate(host.rdma) : 0;
    constexpr double kRdmaShare = 0.95;  // the share of the rate that remains for payload
    std::string why = fmt::format("{}'s {}, of which RDMA can use {:.0f} %", host.name, host.rdma,
                                  100 * kRdmaShare);
    double share = kRdmaShare;
    if (bits <= 0) {
      if (host.speed_mbit <= 0) {
        return {.why =
                    fmt::format("{}'s {} does not report its speed; pass it with --expect 10gbit",
                                host.name, host.interface.empty() ? "link" : host.interface)};
      }
      bits = kBitsPerMbit * host.speed_mbit;
      share = tcp_share(host.mtu);
      why = fmt::format("{}'s {} reports {}, of which TCP with MTU {} can use {:.0f} %", host.name,
                        host.interface, speed(bits / 8), host.mtu, 100 * share);
    }
    const double bytes = bits * share / 8;
    if (slowest.bytes_per_second == 0 || bytes < slowest.bytes_per_second) {
      slowest = {.bytes_per_second = bytes, .why = std::move(why)};
    }
  }
  if (slowest.bytes_per_second == 0) slowest.why = "the speed of the hosts' links is not known";
  return slowest;
}

double expected_busbw(const std::string& operation, int ranks, int hosts,
                      double link_bytes_per_second) {
  if (operation != "all-to-all" || hosts < 2 || ranks <= hosts) return link_bytes_per_second;
  // A host has r of the n ranks, and each rank sends (n-r)/n of its buffer to other hosts. busbw
  // counts (n-1)/n of the buffer.
  const double on_host = static_cast<double>(ranks) / hosts;
  return link_bytes_per_second * (ranks - 1) / (on_host * (ranks - on_host));
}

std::vector<Judgement> judge(const Results& results, double given) {
  std::vector<Judgement> verdicts = judge_traffic(results);
  const LinkExpectation link = expected_link(results, given);
  if (!results.measurements.empty()) {
    verdicts.push_back(judge_correctness(results));
    for (const std::string& operation : operations_in(results)) {
      if (operation == "barrier") continue;
      if (results.hosts.size() < 2) {
        verdicts.push_back(
            {.about = operation, .text = "there is only one host, so there is no link to judge"});
        break;
      }
      verdicts.push_back(judge_operation(results, operation, link));
    }
  }
  if (results.kind == "pairs") verdicts.push_back(judge_pairs(results, link));
  return verdicts;
}

}  // namespace muster::bench
