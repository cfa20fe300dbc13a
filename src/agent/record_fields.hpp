// The JSON fields of a rank's Event.
#pragma once

#include <array>
#include <utility>

#include "agent/record.hpp"

namespace muster::agent {

enum class EventKind { kStart, kEnd };

inline auto texts_of(EventKind) {
  return std::array{std::pair(EventKind::kStart, "start"), std::pair(EventKind::kEnd, "end")};
}

template <class V>
void fields(V& v, ProcessId& p) {
  v("pid", p.pid), v("start", p.start);
}

template <class V>
void fields(V& v, RankStart& s) {
  v("rank", s.rank), v("local_rank", s.local_rank), v("size", s.size), v("program", s.program);
  v("shim", s.shim), v("daemon", s.daemon), v("time_s", s.time_s), v("remarks", s.remarks);
}

template <class V>
void fields(V& v, RankEnd& e) {
  v("rank", e.rank), v("status", e.status), v("failure", e.failure), v("time_s", e.time_s);
  v("user_s", e.user_s), v("system_s", e.system_s), v("max_rss_kb", e.max_rss_kb);
  v("out_bytes", e.out_bytes), v("err_bytes", e.err_bytes), v("left_over", e.left_over);
  v("by_engine", e.by_engine), v("timed_out", e.timed_out), v("cut_off", e.cut_off);
  v("memory_ran_out", e.memory_ran_out), v("waited_s", e.waited_s);
}

template <class V>
void fields(V& v, Event& event) {
  EventKind kind = event.end ? EventKind::kEnd : EventKind::kStart;
  v("event", kind);
  if (kind == EventKind::kStart) {
    if (!event.start) event.start.emplace();
    fields(v, *event.start);
  } else {
    if (!event.end) event.end.emplace();
    fields(v, *event.end);
  }
}

}  // namespace muster::agent
