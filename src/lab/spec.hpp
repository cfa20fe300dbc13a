// What a lab is: everything that `up` was asked for, from which every name, address and path of the
// lab follows. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

namespace muster::lab {

struct Spec {
  std::string name = "default";
  int hosts = 0;                                  // n1..nN; the launcher is host 0 and not counted
  int nics = 1;                                   // networks that every host is on, 1 or 2
  std::vector<std::string> nic_names = {"eth0"};  // of the first network, dealt out in turn
  std::string ip = "4";                           // the hosts' addresses: "4", "6" or "both"
  std::string root = "/";  // the folder whose files the hosts n1..nN see; the launcher sees "/"
  std::string user = "dev";
  uid_t uid = 1000;                         // of the user, and of its group
  std::string password;                     // the user's, on every host
  std::vector<std::string> shares;          // folders that all hosts see as one, absolute
  std::vector<std::string> launcher_lacks;  // folders that look empty on the launcher, absolute
  std::string like;  // the machine whose hardware the hosts show, a profile; empty: none
};

constexpr int kMaxHosts = 4096;
constexpr int kMaxHostsWithRails = 250;  // a rail has a /24
constexpr std::string_view kLauncher = "launcher";

// The address that `break docker0` gives to every host, and its prefix length.
constexpr std::string_view kDockerAddress = "198.19.255.1";

// An Error of code kUsage for a spec that cannot be built, e.g. a name that is no file name.
[[nodiscard]] Result<void> validate(const Spec& spec);

// Hosts are numbered 0 (the launcher) to spec.hosts.
[[nodiscard]] std::string host_name(int host);
[[nodiscard]] Result<int> host_number(const Spec& spec, std::string_view name);

// Networks ("nics") are numbered from 0: 198.18.0.0/16 and 198.19.0.0/17, inside the range that is
// set aside for tests between networks.
[[nodiscard]] std::string address(int host, int nic);
[[nodiscard]] int prefix_length(int nic);
// Unique local: fd00:198:18::/64 and fd00:198:19::/64, with the last numbers of the IPv4 address.
[[nodiscard]] std::string ipv6_address(int host, int nic);

struct HostAddress {
  std::string ip;
  int prefix_length = 0;
};
// Those that the host has in this network: IPv4 first.
[[nodiscard]] std::vector<HostAddress> addresses(const Spec& spec, int host, int nic);
[[nodiscard]] std::string mac(int host, int nic);  // fixed, or a restarted host meets stale ARP
[[nodiscard]] std::string nic_name(const Spec& spec, int host, int nic);
[[nodiscard]] std::string port_name(int host, int nic);  // the cable's end in the switch
[[nodiscard]] std::string bridge_name(int nic);
// The same for the networks of the profile's cards, which have no second end to be shaped.
[[nodiscard]] std::string rail_port_name(int host, int rail);
[[nodiscard]] std::string rail_bridge_name(int rail);
// A shaped cable goes port - wire process - inner end = outer end - bridge.
[[nodiscard]] std::string wire_inner_name(int host, int nic);
[[nodiscard]] std::string wire_outer_name(int host, int nic);

// Where a lab lies. The folder holds the lock and the mount point; all else is on one tmpfs.
[[nodiscard]] std::string lab_folder(std::string_view lab);
[[nodiscard]] std::string disk(std::string_view lab);
[[nodiscard]] std::string host_folder(std::string_view lab, std::string_view host);

// "MUSTER_LAB=<folder>", in the environment of every process that a lab starts: by it `down` finds
// them again, whatever became of the process that started them.
[[nodiscard]] std::string mark(std::string_view lab);

[[nodiscard]] std::string to_json(const Spec& spec);
[[nodiscard]] Result<Spec> from_json(const std::string& text);

}  // namespace muster::lab
