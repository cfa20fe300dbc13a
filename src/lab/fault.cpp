#include "lab/fault.hpp"

#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "lab/hardware_host.hpp"
#include "lab/node.hpp"
#include "lab/plan.hpp"
#include "lab/sweep.hpp"
#include "lab/wire.hpp"
#include "sys/file.hpp"
#include "sys/process.hpp"
#include "sys/random.hpp"

namespace muster::lab {
namespace {

std::string wire_file(const Spec& spec, int host, int nic) {
  return fmt::format("{}/wire{}", host_folder(spec.name, host_name(host)), nic);
}

// The interface by which the host's cable is connected to the bridge.
std::string bridge_port(const Spec& spec, int host, int nic) {
  return recorded_process(wire_file(spec, host, nic)) ? wire_outer_name(host, nic)
                                                      : port_name(host, nic);
}

Result<void> run_in_network(const Spec& spec, pid_t pid, std::vector<std::string> words) {
  words = in_network_of(pid, std::move(words));
  MUSTER_TRY(const sys::Ended ended, sys::run({.argv = words, .env = {mark(spec.name)}}));
  if (ended.ok()) return {};
  return unexpected(
      Error{.what = fmt::format("'{}' failed: {}", fmt::join(words, " "), ended.err)});
}

// Switches offloading on or off. A packet socket must see frames as a cable carries them: not
// larger than the MTU, and with checksums.
Result<void> set_offload(const Spec& spec, pid_t pid, const std::string& interface, bool on) {
  const std::string value = on ? "on" : "off";
  return run_in_network(
      spec, pid,
      {"ethtool", "-K", interface, "tso", value, "gso", value, "gro", value, "tx", value});
}

Result<void> stop_wire(const Spec& spec, int host, int nic) {
  const auto pid = recorded_process(wire_file(spec, host, nic));
  if (pid) MUSTER_CHECK(end_process(*pid));
  // Also needed if the process ended by itself or never started, because its two interfaces may
  // exist even then.
  try_in_switch(spec.name, fmt::format("link del {}\n", wire_outer_name(host, nic)));
  return {};
}

struct Ends {
  pid_t host_pid;
  pid_t switch_pid;
  std::string interface;  // on the host
  std::string port;       // on the switch
};

Result<void> limit_rate(const Spec& spec, const Ends& ends, std::int64_t bits_per_second) {
  for (const auto& [pid, interface] :
       {std::pair(ends.host_pid, ends.interface), std::pair(ends.switch_pid, ends.port)}) {
    MUSTER_CHECK(run_in_network(
        spec, pid,
        {"tc", "qdisc", "replace", "dev", interface, "root", "tbf", "rate",
         fmt::format("{}bit", bits_per_second), "burst", "256kb", "latency", "50ms"}));
  }
  return {};
}

Result<void> start_wire(const Spec& spec, int host, int nic, const Ends& ends, const Shape& shape) {
  const std::string inner = wire_inner_name(host, nic);
  const std::string outer = wire_outer_name(host, nic);
  MUSTER_CHECK(in_switch(spec.name, fmt::format("link add {0} type veth peer name {1}\n"
                                                "link set {2} nomaster\nlink set {0} up\n",
                                                inner, outer, ends.port)));
  MUSTER_CHECK(set_offload(spec, ends.host_pid, ends.interface, false));
  for (const std::string& name : {ends.port, inner, outer}) {
    MUSTER_CHECK(set_offload(spec, ends.switch_pid, name, false));
  }
  auto wire = std::make_shared<std::unique_ptr<Wire>>();
  const auto prepare = [&]() -> Result<void> {
    MUSTER_TRY(Wire opened, Wire::open(ends.port, inner, shape));
    *wire = std::make_unique<Wire>(std::move(opened));
    return {};
  };
  MUSTER_TRY(const pid_t pid,
             leave_inside(spec, kSwitch, As::kNetworkRoot, prepare, [&] { (*wire)->carry(); }));
  MUSTER_CHECK(record_process(wire_file(spec, host, nic), pid));
  return in_switch(spec.name, fmt::format("link set {} master {} up\n", outer, bridge_name(nic)));
}

// Whether the cable is connected to no bridge, neither by its port nor by the outer interface of a
// wire process, which still exists after that process has ended.
Result<bool> cut_off(int host, int nic, const Ends& ends) {
  for (const std::string& name : {wire_outer_name(host, nic), ends.port}) {
    MUSTER_TRY(const sys::Ended shown,
               sys::run({.argv = in_network_of(ends.switch_pid,
                                               {"ip", "-o", "link", "show", "dev", name})}));
    if (shown.out.find(" master ") != std::string::npos) return false;
  }
  return true;
}

Result<void> unshape(const Spec& spec, int host, int nic, const Ends& ends) {
  MUSTER_CHECK(stop_wire(spec, host, nic));
  // Fails if no shape was set, which is not an error.
  (void)run_in_network(spec, ends.host_pid, {"tc", "qdisc", "del", "dev", ends.interface, "root"});
  (void)run_in_network(spec, ends.switch_pid, {"tc", "qdisc", "del", "dev", ends.port, "root"});
  MUSTER_CHECK(set_offload(spec, ends.host_pid, ends.interface, true));
  MUSTER_CHECK(set_offload(spec, ends.switch_pid, ends.port, true));
  return in_switch(
      spec.name, fmt::format("link set {} master {} up\n", port_name(host, nic), bridge_name(nic)));
}

// The profile's cards whose cables are connected to the switch on a healthy host.
std::vector<RailInterface> cabled_rails(const Spec& spec, int host) {
  std::vector<RailInterface> rails = rails_of(spec, host);
  std::erase_if(rails, [](const RailInterface& rail) { return !rail.in_switch; });
  return rails;
}

Result<void> remove_cables(const Spec& spec, int host) {
  std::string lines;
  for (int nic = 0; nic < spec.nics; ++nic) {
    MUSTER_CHECK(stop_wire(spec, host, nic));
    lines += fmt::format("link del {}\n", port_name(host, nic));
  }
  for (const RailInterface& rail : rails_of(spec, host)) {
    lines += fmt::format("link del {}\n", rail_port_name(host, rail.number));
  }
  try_in_switch(spec.name, lines);
  return {};
}

}  // namespace

Result<void> cut(const Spec& spec, int host) {
  MUSTER_TRY(const pid_t pid, first_process(spec, host_name(host)));
  (void)pid;
  std::string lines;
  for (int nic = 0; nic < spec.nics; ++nic) {
    lines += fmt::format("link set {} nomaster\n", bridge_port(spec, host, nic));
  }
  std::string rail_lines;
  for (const RailInterface& rail : cabled_rails(spec, host)) {
    rail_lines += fmt::format("link set {} nomaster\n", rail_port_name(host, rail.number));
  }
  if (!rail_lines.empty()) try_in_switch(spec.name, rail_lines);  // `break` may have removed cards
  return in_switch(spec.name, lines);
}

Result<void> mend(const Spec& spec, int host) {
  MUSTER_TRY(const pid_t pid, first_process(spec, host_name(host)));
  (void)pid;
  MUSTER_CHECK(mend_hardware(spec, host));
  std::string lines;
  for (int nic = 0; nic < spec.nics; ++nic) {
    lines +=
        fmt::format("link set {} master {} up\n", bridge_port(spec, host, nic), bridge_name(nic));
  }
  for (const RailInterface& rail : cabled_rails(spec, host)) {
    lines += fmt::format("link set {} master {} up\n", rail_port_name(host, rail.number),
                         rail_bridge_name(rail.number));
  }
  return in_switch(spec.name, lines);
}

Result<void> kill(const Spec& spec, int host) {
  MUSTER_TRY(const pid_t pid, first_process(spec, host_name(host)));
  MUSTER_CHECK(end_process(pid));
  // The kernel may remove the host's network later, and until then it would answer pings, unlike a
  // dead host. The connections have been closed by now, so the peers know.
  return remove_cables(spec, host);
}

Result<void> crash(const Spec& spec, int host) {
  MUSTER_CHECK(cut(spec, host));
  return kill(spec, host);
}

Result<void> restart(const Spec& spec, int host) {
  if (const auto pid = node_pid(spec.name, host_name(host))) MUSTER_CHECK(end_process(*pid));
  MUSTER_CHECK(remove_cables(spec, host));  // needed even if the host has ended by itself
  MUSTER_CHECK(mend_hardware(spec, host));
  constexpr std::size_t kBootIdBytes = 16;
  MUSTER_CHECK(
      sys::write_file(boot_id_path(spec, host), boot_id(sys::random_hex(kBootIdBytes)), 0644));
  return start_hosts(spec, {&host, 1});
}

Result<void> link(const Spec& spec, int host, int nic, const Shape& wanted,
                  std::optional<int> lossy_peer) {
  Shape shape = wanted;
  if (lossy_peer && spec.ip != "4") {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "--between knows only IPv4, and the lab's hosts have IPv6",
                            .hint = "leave out --between, or use a lab without IPv6"});
  }
  if (lossy_peer) {
    in_addr parsed{};
    (void)::inet_pton(AF_INET, address(*lossy_peer, nic).c_str(), &parsed);
    shape.lossy_peer = ::ntohl(parsed.s_addr);
  }
  if (nic < 0 || nic >= spec.nics) {
    return unexpected(Error{
        .code = ErrorCode::kUsage,
        .what = fmt::format("the lab has {} network(s) and no network number {}", spec.nics, nic)});
  }
  MUSTER_TRY(const pid_t host_pid, first_process(spec, host_name(host)));
  const auto switch_pid = node_pid(spec.name, kSwitch);
  if (!switch_pid) return unexpected(Error{.what = "the lab's network switch is not running"});
  const Ends ends{host_pid, *switch_pid, nic_name(spec, host, nic), port_name(host, nic)};
  MUSTER_TRY(const bool is_cut, cut_off(host, nic, ends));
  if (is_cut) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "the host's links are cut",
                            .where = {.host = host_name(host)},
                            .hint = fmt::format("run: muster lab mend {}", host_name(host))});
  }
  MUSTER_CHECK(unshape(spec, host, nic, ends));
  if (shape.bits_per_second > 0) MUSTER_CHECK(limit_rate(spec, ends, shape.bits_per_second));
  Shape only_rate;
  only_rate.bits_per_second = shape.bits_per_second;
  only_rate.lossy_peer = shape.lossy_peer;
  if (shape == only_rate) return {};
  auto started = start_wire(spec, host, nic, ends, shape);
  if (!started) (void)unshape(spec, host, nic, ends);
  return started;
}

}  // namespace muster::lab
