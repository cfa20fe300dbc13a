#include "lab/spec.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "base/json_fields.hpp"

namespace muster::lab {
namespace {

constexpr std::string_view kRoot = "/run/muster-lab";
constexpr std::size_t kMaxInterfaceName = 15;  // the kernel's IFNAMSIZ without the NUL

bool is_word(std::string_view text, std::size_t max_size) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= max_size && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), good);
}

// Accepts upper and lower case, as in enP7s7.
bool is_interface_name(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return is_word(name, kMaxInterfaceName - 1) && name != "lo";
}

unexpected<Error> refuse(std::string what, std::string hint = {}) {
  return unexpected(
      Error{.code = ErrorCode::kUsage, .what = std::move(what), .hint = std::move(hint)});
}

}  // namespace

Result<void> validate(const Spec& spec) {
  if (!is_word(spec.name, 32)) {
    return refuse(fmt::format("'{}' cannot be the name of a lab", spec.name),
                  "use at most 32 of the characters a-z, 0-9, - and _");
  }
  if (spec.hosts < 1 || spec.hosts > kMaxHosts) {
    return refuse(fmt::format("a lab has 1 to {} hosts, not {}", kMaxHosts, spec.hosts));
  }
  if (spec.nics < 1 || spec.nics > 2) return refuse("a lab has 1 or 2 networks (--nics)");
  if (spec.ip != "4" && spec.ip != "6" && spec.ip != "both") {
    return refuse(fmt::format("the hosts' addresses cannot be of kind '{}'", spec.ip),
                  "pass --ip 4, --ip 6 or --ip both");
  }
  if (!is_word(spec.user, 32) || spec.user == "root") {
    return refuse(fmt::format("'{}' cannot be the name of the lab's ordinary user", spec.user));
  }
  if (spec.nic_names.empty()) return refuse("--nic-names is empty");
  for (const std::string& name : spec.nic_names) {
    if (!is_interface_name(name)) {
      return refuse(fmt::format("'{}' cannot be the name of a network interface", name));
    }
  }
  if (spec.root.find_first_of(":,\\") != std::string::npos) {
    return refuse(fmt::format("--rootfs cannot be '{}'", spec.root),
                  "move it to a path without ':', ',' and '\\', which mount options cannot hold");
  }
  for (const std::string& folder : spec.shares) {
    if (folder.empty() || folder.front() != '/') {
      return refuse(fmt::format("--share needs an absolute path, not '{}'", folder));
    }
  }
  if (!spec.like.empty() && spec.hosts > kMaxHostsWithRails) {
    return refuse(fmt::format("a lab with --like has at most {} hosts", kMaxHostsWithRails));
  }
  return {};
}

std::string host_name(int host) {
  return host == 0 ? std::string(kLauncher) : fmt::format("n{}", host);
}

Result<int> host_number(const Spec& spec, std::string_view name) {
  if (name == kLauncher) return 0;
  int number = 0;
  if (name.size() > 1 && name.front() == 'n') {
    const auto [end, bad] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
    if (bad != std::errc() || end != name.data() + name.size()) number = 0;
  }
  if (number < 1 || number > spec.hosts || host_name(number) != name) {
    return refuse(fmt::format("lab '{}' has no host '{}'", spec.name, name),
                  fmt::format("the lab has the hosts launcher and n1 to n{}", spec.hosts));
  }
  return number;
}

std::string address(int host, int nic) {
  // The launcher has .0.1. Other hosts begin at .1.1, with 250 in each third byte.
  if (host == 0) return fmt::format("198.{}.0.1", 18 + nic);
  return fmt::format("198.{}.{}.{}", 18 + nic, (host - 1) / 250 + 1, (host - 1) % 250 + 1);
}

int prefix_length(int nic) {
  return nic == 0 ? 16 : 17;
}

std::string ipv6_address(int host, int nic) {
  if (host == 0) return fmt::format("fd00:198:{}::1", 18 + nic);
  return fmt::format("fd00:198:{}::{}:{}", 18 + nic, (host - 1) / 250 + 1, (host - 1) % 250 + 1);
}

std::vector<HostAddress> addresses(const Spec& spec, int host, int nic) {
  std::vector<HostAddress> all;
  if (spec.ip != "6") all.push_back({address(host, nic), prefix_length(nic)});
  if (spec.ip != "4") all.push_back({ipv6_address(host, nic), 64});
  return all;
}

std::string mac(int host, int nic) {
  return fmt::format("02:00:00:{:02x}:{:02x}:{:02x}", nic, host >> 8, host & 255);
}

std::string nic_name(const Spec& spec, int host, int nic) {
  const std::string& first = spec.nic_names[static_cast<std::size_t>(host) % spec.nic_names.size()];
  if (nic == 0) return first;
  // Turns ens5 into ens6, the usual name for a second card.
  const std::size_t digits = first.find_last_not_of("0123456789") + 1;
  int number = 0;
  std::from_chars(first.data() + digits, first.data() + first.size(), number);
  return fmt::format("{}{}", first.substr(0, digits), number + nic);
}

std::string port_name(int host, int nic) {
  return fmt::format("{}{}", nic == 0 ? 'p' : 'q', host);
}

std::string wire_inner_name(int host, int nic) {
  return fmt::format("{}{}", nic == 0 ? 'u' : 'v', host);
}

std::string wire_outer_name(int host, int nic) {
  return fmt::format("{}{}", nic == 0 ? 'w' : 'x', host);
}

std::string bridge_name(int nic) {
  return fmt::format("br{}", nic);
}

std::string rail_port_name(int host, int rail) {
  return fmt::format("r{}h{}", rail, host);
}

std::string rail_bridge_name(int rail) {
  return fmt::format("rail{}", rail);
}

std::string lab_folder(std::string_view lab) {
  return fmt::format("{}/{}", kRoot, lab);
}

std::string disk(std::string_view lab) {
  return lab_folder(lab) + "/disk";
}

std::string host_folder(std::string_view lab, std::string_view host) {
  return fmt::format("{}/{}", disk(lab), host);
}

std::string mark(std::string_view lab) {
  return "MUSTER_LAB=" + lab_folder(lab);
}

template <class V>
void fields(V& v, Spec& s) {
  v("name", s.name), v("hosts", s.hosts), v("nics", s.nics), v("nic_names", s.nic_names);
  v("ip", s.ip);
  v("root", s.root), v("user", s.user), v("uid", s.uid), v("password", s.password);
  v("shares", s.shares), v("launcher_lacks", s.launcher_lacks), v("like", s.like);
}

std::string to_json(const Spec& spec) {
  return sorted_json_of_fields(spec, 2) + "\n";
}

Result<Spec> from_json(const std::string& text) {
  MUSTER_TRY(Spec spec, parse_fields<Spec>(text, "this is not the description of a lab"));
  MUSTER_CHECK(validate(spec));
  return spec;
}

}  // namespace muster::lab
