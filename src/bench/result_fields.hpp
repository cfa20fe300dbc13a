// The JSON fields of Results, for its file and for the lines of muster-bench.
#pragma once

#include <array>
#include <utility>

#include "bench/results.hpp"

namespace muster::bench {

inline auto texts_of(Judgement::Outcome) {
  return std::array{std::pair(Judgement::Outcome::kPass, "pass"),
                    std::pair(Judgement::Outcome::kFail, "fail"),
                    std::pair(Judgement::Outcome::kUnknown, "unknown")};
}

inline auto texts_of(Aspect) {
  return std::array{std::pair(Aspect::kBandwidth, "bandwidth"),
                    std::pair(Aspect::kLatency, "latency"), std::pair(Aspect::kLoss, "loss")};
}

template <class V>
void fields(V& v, Times& t) {
  v("min", t.min), v("p25", t.p25), v("median", t.median), v("p75", t.p75), v("p95", t.p95);
  v("p99", t.p99);
}

template <class V>
void fields(V& v, Measurement& m) {
  v("operation", m.operation), v("backend", m.backend), v("ranks", m.ranks), v("bytes", m.bytes);
  v("iterations", m.iterations), v("mean_s", m.mean_s), v("times", m.times), v("algbw", m.algbw);
  v("busbw", m.busbw), v("wrong", m.wrong), v("rdma", m.rdma);
}

template <class V>
void fields(V& v, Skipped& s) {
  v("operation", s.operation), v("backend", s.backend), v("why", s.why);
}

template <class V>
void fields(V& v, Traffic::Device& d) {
  v("name", d.name), v("rdma", d.rdma), v("sent", d.sent), v("received", d.received);
}

template <class V>
void fields(V& v, Traffic& t) {
  v("host", t.host), v("backend", t.backend), v("operation", t.operation);
  v("devices", t.devices);
}

template <class V>
void fields(V& v, Pair& p) {
  v("one", p.one), v("other", p.other), v("forward", p.forward), v("backward", p.backward);
  v("latency_s", p.latency_s), v("resent", p.resent), v("again", p.again);
}

template <class V>
void fields(V& v, Suspect& s) {
  v("hosts", s.hosts), v("what", s.what), v("aspect", s.aspect), v("confirmed", s.confirmed);
}

template <class V>
void fields(V& v, Training& t) {
  v("model", t.model), v("backend", t.backend), v("hosts", t.hosts), v("ranks", t.ranks);
  v("steps", t.steps), v("samples", t.samples), v("step_s", t.step_s);
  v("compute_s", t.compute_s), v("backward_s", t.backward_s), v("parameters", t.parameters);
  v("gradient_bytes", t.gradient_bytes);
}

template <class V>
void fields(V& v, Judgement& t) {
  v("outcome", t.outcome), v("about", t.about), v("expected", t.expected);
  v("measured", t.measured), v.lines("text", t.text);
}

template <class V>
void fields(V& v, HostFacts& h) {
  v("name", h.name), v("os", h.os), v("kernel", h.kernel), v("cpu", h.cpu), v("cores", h.cores);
  v("memory_bytes", h.memory_bytes), v("ranks", h.ranks), v("interface", h.interface);
  v("address", h.address), v("mtu", h.mtu), v("speed_mbit", h.speed_mbit), v("rdma", h.rdma);
}

template <class V>
void fields(V& v, Results& r) {
  v("kind", r.kind), v("muster", r.muster), v("when", r.when);
  v.lines("command", r.command);
  v("engine", r.engine), v("network", r.network), v("ranks", r.ranks), v("hosts", r.hosts);
  v("measurements", r.measurements), v("skipped", r.skipped), v("traffic", r.traffic);
  v("pairs", r.pairs), v("suspects", r.suspects), v("trainings", r.trainings);
  v("verdicts", r.verdicts), v("cut_short", r.cut_short);
}

}  // namespace muster::bench
