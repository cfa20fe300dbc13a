// What a lab consists of: all options of `up`. Every name, address and path of the lab follows from
// them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::lab {

struct Spec {
  std::string name = "default";
  // The number of hosts n1..nN, without the launcher, which is host 0.
  int hosts = 0;
  int nics = 1;  // how many networks every host is in: 1 or 2
  // Names in the first network; hosts take them in turn.
  std::vector<std::string> nic_names = {"eth0"};
  std::string ip = "4";    // addresses of the hosts: "4", "6" or "both"
  std::string root = "/";  // folder with the files of n1..nN; the launcher always has "/"
  std::string user = "dev";
  uid_t uid = 1000;                         // uid of the user, and also the gid
  std::string password;                     // password of the user, on every host
  std::vector<std::string> shares;          // absolute folders that all hosts share
  std::vector<std::string> launcher_lacks;  // absolute folders that are empty on the launcher
  std::string like;                         // profile whose hardware the hosts show; empty: none
};

constexpr int kMaxHosts = 4096;
constexpr int kMaxHostsWithRails = 250;  // limited, because each rail has a /24
constexpr std::string_view kLauncher = "launcher";

// The address that `break docker0` adds to every host, and its prefix length.
constexpr std::string_view kDockerAddress = "198.19.255.1";

// Returns an Error of code kUsage if the spec cannot be built, for example because a name is not a
// valid file name.
[[nodiscard]] Result<void> validate(const Spec& spec);

// Host 0 is the launcher. The others have the numbers 1 to spec.hosts.
[[nodiscard]] std::string host_name(int host);
[[nodiscard]] Result<int> host_number(const Spec& spec, std::string_view name);

// Networks ("nics") are numbered from 0: 198.18.0.0/16 and 198.19.0.0/17. Both are in the range
// that is reserved for network tests.
[[nodiscard]] std::string address(int host, int nic);
[[nodiscard]] int prefix_length(int nic);
// A unique local address in fd00:198:18::/64 or fd00:198:19::/64, with the last numbers of the IPv4
// address.
[[nodiscard]] std::string ipv6_address(int host, int nic);

struct HostAddress {
  std::string ip;
  int prefix_length = 0;
};
// The host's addresses in this network, IPv4 first.
[[nodiscard]] std::vector<HostAddress> addresses(const Spec& spec, int host, int nic);
// The MAC address. It is constant, so that ARP tables stay valid when a host restarts.
[[nodiscard]] std::string mac(int host, int nic);
[[nodiscard]] std::string nic_name(const Spec& spec, int host, int nic);
[[nodiscard]] std::string port_name(int host, int nic);  // the end of the cable at the switch
[[nodiscard]] std::string bridge_name(int nic);
// Like port_name and bridge_name, for the networks of the profile's cards, whose cables cannot be
// shaped.
[[nodiscard]] std::string rail_port_name(int host, int rail);
[[nodiscard]] std::string rail_bridge_name(int rail);
// If a cable is shaped, the wire process connects its port to the inner interface. The peer of
// that, the outer interface, is connected to the bridge.
[[nodiscard]] std::string wire_inner_name(int host, int nic);
[[nodiscard]] std::string wire_outer_name(int host, int nic);

// Where a lab is stored. The folder contains the lock and the mount point of a tmpfs, which
// contains everything else.
[[nodiscard]] std::string lab_folder(std::string_view lab);
[[nodiscard]] std::string disk(std::string_view lab);
[[nodiscard]] std::string host_folder(std::string_view lab, std::string_view host);

// "MUSTER_LAB=<folder>", which is in the environment of every process that a lab starts. `down`
// finds the processes by it, even if the process that started them has ended.
[[nodiscard]] std::string mark(std::string_view lab);

[[nodiscard]] std::string to_json(const Spec& spec);
[[nodiscard]] Result<Spec> from_json(const std::string& text);

}  // namespace muster::lab
