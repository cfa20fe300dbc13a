// The fields of a Scene and of a Verdict in JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "inspect/inspection_fields.hpp"
#include "why/verdict.hpp"

namespace muster::why {

using Life = RankState::Life;

inline std::vector<std::pair<Life, std::string>> texts_of(Life) {
  return {{Life::kNotStarted, "not-started"}, {Life::kRunning, "running"}, {Life::kEnded, "ended"}};
}

inline std::vector<std::pair<Kind, std::string>> texts_of(Kind) {
  return {{Kind::kProgress, "progress"},
          {Kind::kWorking, "working"},
          {Kind::kWaiting, "waiting"},
          {Kind::kUnknown, "unknown"},
          {Kind::kNotEntered, "not-entered"},
          {Kind::kDifferentCollectives, "different-collectives"},
          {Kind::kDifferentSizes, "different-sizes"},
          {Kind::kLoops, "loops"},
          {Kind::kStopped, "stopped"},
          {Kind::kUninterruptible, "uninterruptible"},
          {Kind::kWaitsForLock, "waits-for-lock"},
          {Kind::kWaitsForInput, "waits-for-input"},
          {Kind::kEnded, "ended"},
          {Kind::kNoTransportProgress, "no-transport-progress"},
          {Kind::kRendezvousIncomplete, "rendezvous-incomplete"},
          {Kind::kEverybodyWaits, "everybody-waits"},
          {Kind::kHostSilent, "host-silent"},
          {Kind::kStraggler, "straggler"},
          {Kind::kSlowLink, "slow-link"},
          {Kind::kBalanced, "balanced"}};
}

// An entry of a map of hosts. JSON stores the map as a list, since object keys would have no type.
struct NamedHost {
  std::string host;
  inspect::HostView view = {};
};
struct NamedLines {
  std::string host;
  std::vector<std::string> lines = {};
};

struct SceneJson {
  std::vector<RankState> ranks = {};
  std::vector<NamedHost> hosts = {};
  std::vector<std::string> silent_hosts = {};
  std::vector<NamedLines> kernel_logs = {};
  std::string master_address = {};
  int master_port = 0;
  double started_ago_s = 0;
  double silent_s = 0;
};

template <class V>
void fields(V& v, RankState& r) {
  v("rank", r.rank), v("host", r.host), v("life", r.life), v("end", r.end);
  v("ended_ago_s", r.ended_ago_s), v("timed_out", r.timed_out);
  v("cut_off", r.cut_off);
}

template <class V>
void fields(V& v, NamedHost& h) {
  v("host", h.host), v("view", h.view);
}

template <class V>
void fields(V& v, NamedLines& l) {
  v("host", l.host), v("lines", l.lines);
}

template <class V>
void fields(V& v, SceneJson& s) {
  v("ranks", s.ranks), v("hosts", s.hosts), v("silent_hosts", s.silent_hosts);
  v("kernel_logs", s.kernel_logs), v("master_address", s.master_address);
  v("master_port", s.master_port), v("started_ago_s", s.started_ago_s), v("silent_s", s.silent_s);
}

template <class V>
void fields(V& v, Verdict& j) {
  v("kind", j.kind), v("hang", j.hang), v("ranks", j.ranks), v("hosts", j.hosts);
  v("headline", j.headline), v("details", j.details), v("next", j.next);
}

}  // namespace muster::why
