// The JSON fields of a HostView.
#pragma once

#include "inspect/inspection.hpp"

namespace muster::inspect {

template <class V>
void fields(V& v, Frame& f) {
  v("function", f.function), v("file", f.file), v("line", f.line);
}

template <class V>
void fields(V& v, Stack& s) {
  v("source", s.source), v("python", s.python), v("frames", s.frames);
}

template <class V>
void fields(V& v, Operation& o) {
  v("name", o.name), v("number", o.number), v("sizes", o.sizes), v("types", o.types);
  v("age_s", o.age_s), v("timeout_s", o.timeout_s), v("done", o.done);
}

template <class V>
void fields(V& v, Group& g) {
  v("name", g.name), v("description", g.description), v("backend", g.backend), v("ranks", g.ranks);
  v("begun", g.begun), v("done", g.done), v("begun_before", g.begun_before);
  v("done_before", g.done_before), v("longest_gap_s", g.longest_gap_s);
  v("operations", g.operations);
}

template <class V>
void fields(V& v, Connection& c) {
  v("local", c.local), v("local_port", c.local_port), v("peer", c.peer);
  v("peer_port", c.peer_port), v("state", c.state), v("unsent", c.unsent), v("unread", c.unread);
  v("retransmits", c.retransmits), v("retransmitted", c.retransmitted);
  v("since_ack_s", c.since_ack_s), v("moved", c.moved), v("busy", c.busy),
      v("round_trip_s", c.round_trip_s);
}

template <class V>
void fields(V& v, Process& p) {
  v("pid", p.pid), v("parent", p.parent), v("command", p.command), v("state", p.state);
  v("waits_in", p.waits_in), v("call", p.call), v("cpu", p.cpu), v("io_bytes", p.io_bytes);
}

template <class V>
void fields(V& v, RankView& r) {
  v("rank", r.rank), v("pid", r.pid), v("processes", r.processes), v("stacks", r.stacks);
  v("first_frames", r.first_frames), v("places", r.places), v("watched", r.watched);
  v("recorded", r.recorded);
  v("samples", r.samples), v("samples_in_collectives", r.samples_in_collectives);
  v("groups", r.groups);
  v("connections", r.connections), v("not_seen", r.not_seen);
}

template <class V>
void fields(V& v, Counter& c) {
  v("device", c.device), v("name", c.name), v("value", c.value), v("change", c.change);
}

template <class V>
void fields(V& v, HostView& h) {
  v("time_s", h.time_s), v("window_s", h.window_s), v("ranks", h.ranks);
  v("addresses", h.addresses), v("listening", h.listening), v("processors", h.processors);
  v("load", h.load), v("full_disks", h.full_disks), v("counters", h.counters);
  v.lines("nccl", h.nccl), v("not_seen", h.not_seen);
}

}  // namespace muster::inspect
