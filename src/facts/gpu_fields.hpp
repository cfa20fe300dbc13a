// The JSON fields of a Gpu.
#pragma once

#include "facts/gpu.hpp"

namespace muster::facts {

template <class V>
void fields(V& v, GpuProcess& p) {
  v("pid", p.pid), v("user", p.user), v("command", p.command), v("memory_bytes", p.memory_bytes);
}

template <class V>
void fields(V& v, MigDevice& m) {
  v("profile", m.profile), v("uuid", m.uuid);
}

template <class V>
void fields(V& v, Xid& x) {
  v("code", x.code), v("count", x.count), v("seconds_ago", x.seconds_ago);
}

template <class V>
void fields(V& v, Gpu& g) {
  v("index", g.index), v("vendor", g.vendor), v("model", g.model), v("pci", g.pci);
  v("uuid", g.uuid), v("problem", g.problem), v("numa_node", g.numa_node), v("cpus", g.cpus);
  v("memory_bytes", g.memory_bytes), v("memory_used_bytes", g.memory_used_bytes);
  v("pcie_width", g.pcie_width), v("pcie_width_max", g.pcie_width_max);
  v("pcie_gen_max", g.pcie_gen_max), v("ecc_uncorrected", g.ecc_uncorrected);
  v("remap_pending", g.remap_pending), v("remap_failed", g.remap_failed);
  v("retired_pages_pending", g.retired_pages_pending), v("throttled_by", g.throttled_by);
  v("mig", g.mig), v("mig_devices", g.mig_devices), v("persistence", g.persistence);
  v("compute_mode", g.compute_mode);
  v("fabric_state", g.fabric_state), v("processes", g.processes);
  v("nvlinks_up", g.nvlinks_up), v("nvlinks_down", g.nvlinks_down), v("xids", g.xids);
}

template <class V>
void fields(V& v, GpuDrivers& d) {
  v("nvidia", d.nvidia), v("cuda", d.cuda), v("amd", d.amd), v("rocm", d.rocm);
  v("nvswitches", d.nvswitches), v("fabric_manager", d.fabric_manager),
      v.maybe("intel_driver", d.intel);
}

}  // namespace muster::facts
