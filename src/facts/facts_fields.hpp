// The JSON fields of Facts and Request.
#pragma once

#include <array>
#include <utility>

#include "facts/facts.hpp"
#include "facts/gpu_fields.hpp"
#include "facts/summary.hpp"

namespace muster::facts {

inline auto texts_of(InterfaceKind) {
  return std::array{std::pair(InterfaceKind::kPort, to_text(InterfaceKind::kPort)),
                    std::pair(InterfaceKind::kLoopback, to_text(InterfaceKind::kLoopback)),
                    std::pair(InterfaceKind::kVirtual, to_text(InterfaceKind::kVirtual)),
                    std::pair(InterfaceKind::kTunnel, to_text(InterfaceKind::kTunnel)),
                    std::pair(InterfaceKind::kInfiniband, to_text(InterfaceKind::kInfiniband))};
}

template <class V>
void fields(V& v, Address& a) {
  v("ip", a.ip), v("prefix", a.prefix), v.maybe("caveat", a.caveat);
}

template <class V>
void fields(V& v, Interface& i) {
  v("name", i.name), v("kind", i.kind), v("up", i.up), v("mtu", i.mtu);
  v("speed_mbit", i.speed_mbit), v.maybe("made", i.made), v("addresses", i.addresses);
}

template <class V>
void fields(V& v, Route& r) {
  v("destination", r.destination), v("interface", r.interface), v("gateway", r.gateway);
  v("metric", r.metric);
}

template <class V>
void fields(V& v, Gid& g) {
  v("index", g.index), v("gid", g.gid), v("type", g.type), v("interface", g.interface);
}

template <class V>
void fields(V& v, RdmaPort& p) {
  v("device", p.device), v("port", p.port), v("active", p.active), v("link_layer", p.link_layer);
  v("rate", p.rate), v("gids", p.gids), v("physical_state", p.physical_state);
  v("driver", p.driver), v("pci_address", p.pci_address), v("numa_node", p.numa_node);
  v("interfaces", p.interfaces), v("firmware", p.firmware), v("board", p.board);
}

template <class V>
void fields(V& v, PeerMemory& p) {
  v("module", p.module), v("dmabuf", p.dmabuf);
}

template <class V>
void fields(V& v, Cpu& c) {
  v("architecture", c.architecture), v("model", c.model), v("isa", c.isa), v("cores", c.cores);
  v("usable", c.usable), v("numa_nodes", c.numa_nodes), v("affinity", c.affinity);
}

template <class V>
void fields(V& v, Limit& l) {
  v("soft", l.soft), v("hard", l.hard);
}

template <class V>
void fields(V& v, Limits& l) {
  v("nofile", l.nofile), v("memlock", l.memlock), v("nproc", l.nproc);
}

template <class V>
void fields(V& v, Listener& l) {
  v("port", l.port), v("address", l.address), v("pid", l.pid), v("user", l.user);
  v("command", l.command);
}

template <class V>
void fields(V& v, FileMode& f) {
  v("path", f.path), v("mode", f.mode), v("uid", f.uid), v("problem", f.problem);
}

template <class V>
void fields(V& v, FileIdentity& f) {
  v("path", f.path), v("hash", f.hash), v("bytes", f.bytes);
}

template <class V>
void fields(V& v, Mpi& m) {
  v("kind", m.kind), v("version", m.version), v("launcher", m.launcher), v("library", m.library);
  v.maybe("daemon", m.daemon);
  v.maybe("missing_library", m.missing_library), v.maybe("missing_is_in", m.missing_is_in);
}

template <class V>
void fields(V& v, Container& c) {
  v("engine", c.engine), v("machine", c.machine), v("lacks", c.lacks);
  v("reads_memory", c.reads_memory), v("opens_rdma", c.opens_rdma);
  v("bundle_owner", c.bundle_owner);
}

template <class V>
void fields(V& v, Torch& t) {
  v("torchrun", t.torchrun), v("version", t.version), v("threads", t.threads);
  v("uses_gpus", t.uses_gpus), v("cuda", t.cuda), v("rocm", t.rocm), v("nccl", t.nccl);
  v("ofi_plugin", t.ofi_plugin), v.maybe("xpu", t.xpu), v.maybe("backends", t.backends);
}

template <class V>
void fields(V& v, Program& p) {
  v("name", p.name), v("path", p.path), v("executable", p.executable), v("identity", p.identity);
  v.maybe("noexec_mount", p.noexec_mount);
  v("libmpi", p.libmpi), v("libmpi_kind", p.libmpi_kind), v("libmpi_version", p.libmpi_version);
  v("missing_libraries", p.missing_libraries);
  v("missing_interpreter", p.missing_interpreter), v("only_in_folder", p.only_in_folder);
  v("torch", p.torch), v("torch_folder", p.torch_folder);
  v.maybe("architecture", p.architecture), v.maybe("torch_architecture", p.torch_architecture);
}

template <class V>
void fields(V& v, Script& s) {
  v("name", s.name), v("path", s.path), v("files", s.files), v("complete", s.complete);
}

template <class V>
void fields(V& v, Library& l) {
  v("name", l.name), v("path", l.path), v("bytes", l.bytes), v("build_id", l.build_id);
  v("hash", l.hash), v("remote", l.remote);
}

template <class V>
void fields(V& v, Software& s) {
  v("python", s.python), v("packages", s.packages), v("system_packages", s.system_packages);
  v("libraries", s.libraries), v("all_packages", s.all_packages);
  v("all_libraries", s.all_libraries);
}

template <class V>
void fields(V& v, NotSeen& n) {
  v("what", n.what), v("why", n.why);
}

template <class V>
void fields(V& v, Environment& e) {
  v("activated", e.activated), v.lines("failure", e.failure), v("seen", e.seen),
      v("digest", e.digest), v("settings", e.settings);
}

template <class V>
void fields(V& v, Facts& f) {
  v("host", f.host), v("hostname", f.hostname), v("uid", f.uid), v("user", f.user);
  v("home", f.home), v("folder_exists", f.folder_exists), v("os", f.os);
  v("kernel", f.kernel), v("cpu", f.cpu), v("memory_bytes", f.memory_bytes);
  v("interfaces", f.interfaces), v("routes", f.routes);
  v("own_name_resolves_to", f.own_name_resolves_to), v("rdma", f.rdma), v("gpus", f.gpus);
  v("peer_memory", f.peer_memory);
  v("gpu_drivers", f.gpu_drivers);
  v("limits", f.limits), v("shm_bytes", f.shm_bytes), v("shm_free_bytes", f.shm_free_bytes);
  v("clock_s", f.clock_s), v("port_range_first", f.port_range_first);
  v("port_range_last", f.port_range_last), v("listeners", f.listeners);
  v("ssh_files", f.ssh_files), v("mpi", f.mpi), v("torch", f.torch), v("program", f.program);
  v("script", f.script), v("software", f.software), v("environment", f.environment);
  v("not_seen", f.not_seen), v("container", f.container);
}

template <class V>
void fields(V& v, Request& r) {
  v("host", r.host), v("activate", r.activate), v("launchers", r.launchers);
  v("program", r.program), v("script", r.script), v("script_is_module", r.script_is_module);
  v("folder", r.folder), v("answer_within_s", r.answer_within_s);
  v("software", r.software), v("hash_within_ms", r.hash_within_ms);
}

}  // namespace muster::facts
