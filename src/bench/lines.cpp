#include "bench/lines.hpp"

#include <fmt/format.h>

#include "base/json_fields.hpp"
#include "base/printable.hpp"
#include "bench/bounds.hpp"
#include "bench/result_fields.hpp"

namespace muster::bench {
namespace {

constexpr int kLinesVersion = 1;
constexpr int kMostSteps = 1'000'000;
constexpr const char* kLine = "this is not a line of muster-bench";

}  // namespace

// The fields with which every line begins.
struct LineHead {
  int muster_bench = 0;
  std::string kind;
};

template <class V>
void fields(V& v, LineHead& h) {
  v("muster_bench", h.muster_bench), v("kind", h.kind);
}

template <class V>
void fields(V& v, Activity& p) {
  v("what", p.what), v("done", p.done), v("of", p.of), v("left_s", p.left_s);
}

// What muster-bench prints about traffic. It knows only ranks; Lines::read replaces them with the
// names of hosts.
struct TrafficLine {
  int rank = 0;
  std::string backend;
  std::string operation;
  std::vector<Traffic::Device> devices;
};

template <class V>
void fields(V& v, TrafficLine& t) {
  v("rank", t.rank), v("backend", t.backend), v("operation", t.operation);
  v("devices", t.devices);
}

struct PairLine {
  int one = 0;
  int other = 0;
  double forward = 0;
  double backward = 0;
  double latency_s = 0;
  double resent = 0;
  bool again = false;
};

template <class V>
void fields(V& v, PairLine& p) {
  v("one", p.one), v("other", p.other), v("forward", p.forward), v("backward", p.backward);
  v("latency_s", p.latency_s), v("resent", p.resent), v("again", p.again);
}

bool Lines::take(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (!line.starts_with("{\"muster_bench\":")) return false;
  const std::string text(line);
  auto head = parse_fields<LineHead>(text, kLine);
  Result<void> taken;
  if (!head) {
    taken = unexpected(head.error());
  } else if (head->muster_bench != kLinesVersion) {
    taken = unexpected(
        Error{.what = fmt::format(
                  "muster-bench on the hosts writes results of version {}, but this muster reads "
                  "version {}: install the same version of muster on all hosts",
                  head->muster_bench, kLinesVersion)});
  } else if (text.size() > bytes_left_) {
    taken = unexpected(Error{.what = "muster-bench printed more results than muster keeps"});
  } else {
    bytes_left_ -= text.size();
    taken = read(text, head->kind);
  }
  if (!taken && wrong_.empty()) wrong_ = to_text(taken.error());
  return true;
}

Result<std::string> Lines::host(int rank) const {
  if (rank >= 0 && static_cast<std::size_t>(rank) < host_of_rank_.size()) {
    return host_of_rank_[static_cast<std::size_t>(rank)];
  }
  return unexpected(Error{
      .what = fmt::format("muster-bench reports on a rank {}, which the job does not have", rank)});
}

Result<void> Lines::read(const std::string& line, const std::string& kind) {
  if (kind == "measurement") {
    MUSTER_TRY(Measurement one, parse_possible<Measurement>(line, kLine));
    results_.measurements.push_back(std::move(one));
  } else if (kind == "skipped") {
    MUSTER_TRY(Skipped one, parse_possible<Skipped>(line, kLine));
    results_.skipped.push_back(std::move(one));
  } else if (kind == "traffic") {
    MUSTER_TRY(TrafficLine one, parse_possible<TrafficLine>(line, kLine));
    MUSTER_TRY(std::string name, host(one.rank));
    results_.traffic.push_back({.host = std::move(name),
                                .backend = std::move(one.backend),
                                .operation = std::move(one.operation),
                                .devices = std::move(one.devices)});
  } else if (kind == "pair") {
    MUSTER_TRY(const PairLine one, parse_possible<PairLine>(line, kLine));
    MUSTER_TRY(std::string first, host(one.one));
    MUSTER_TRY(std::string second, host(one.other));
    results_.pairs.push_back({.one = std::move(first),
                              .other = std::move(second),
                              .forward = one.forward,
                              .backward = one.backward,
                              .latency_s = one.latency_s,
                              .resent = one.resent,
                              .again = one.again});
  } else if (kind == "training") {
    MUSTER_TRY(Training one, parse_possible<Training>(line, kLine));
    results_.trainings.push_back(std::move(one));
  } else if (kind == "progress") {
    MUSTER_TRY(Activity one, parse_fields<Activity>(line, kLine));
    if (one.done < 0 || one.done > one.of || one.of > kMostSteps) {
      return unexpected(Error{.what = fmt::format("{}: its progress is impossible", kLine)});
    }
    one.what = printable(one.what);
    progress_ = std::move(one);
  } else if (kind == "end") {
    ended_ = true;
  }
  return {};
}

}  // namespace muster::bench
