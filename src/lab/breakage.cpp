#include "lab/breakage.hpp"

#include <array>
#include <charconv>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab/hardware_host.hpp"
#include "lab/interfaces.hpp"
#include "lab/node.hpp"
#include "sys/file.hpp"
#include "sys/quote.hpp"

namespace muster::lab {
namespace {

Result<void> shell(const Spec& spec, int host, const std::string& script) {
  MUSTER_TRY(const int code, inside(spec, host_name(host), As::kRoot, [&] {
               return exec_command(spec, true, {"sh", "-euc", script});
             }));
  if (code == 0) return {};
  return unexpected(
      Error{.what = fmt::format("the command that breaks the host failed with exit code {}", code),
            .where = {.host = host_name(host)}});
}

Result<void> docker0(const Spec& spec, int host, const std::string& /*argument*/) {
  return shell(spec, host,
               fmt::format("ip link add docker0 type bridge\n"
                           "ip addr add {}/24 dev docker0\nip link set docker0 up\n",
                           kDockerAddress));
}

Result<void> loopback_name(const Spec& spec, int host, const std::string& /*argument*/) {
  // Added as the first line, as some installers do, because resolvers return the first match.
  return shell(spec, host, "sed -i \"1i 127.0.1.1 $(hostname)\" /etc/hosts");
}

Result<void> no_such_binary(const Spec& spec, int host, const std::string& path) {
  return shell(spec, host, "test ! -d " + sys::quote(path) + "; rm " + sys::quote(path));
}

Result<void> ssh_modes(const Spec& spec, int host, const std::string& /*argument*/) {
  return shell(spec, host,
               fmt::format("chmod 0777 /home/{0}\n"
                           "if [ -d /home/{0}/.ssh ]; then chmod 0777 /home/{0}/.ssh; fi\n",
                           spec.user));
}

Result<void> host_key(const Spec& spec, int host, const std::string& /*argument*/) {
  // 0 if the host is down, which shell() reports.
  const auto pid = node_pid(spec.name, host_name(host)).value_or(0);
  const unsigned long old_socket = listening_socket(pid, 22);
  MUSTER_CHECK(shell(spec, host,
                     "rm /etc/ssh/ssh_host_ed25519_key /etc/ssh/ssh_host_ed25519_key.pub\n"
                     "ssh-keygen -q -t ed25519 -N '' -C \"root@$(hostname)\" "
                     "-f /etc/ssh/ssh_host_ed25519_key\n"
                     "kill -HUP \"$(cat /run/sshd.pid)\"\n"));
  MUSTER_TRY(const unsigned long socket, wait_for_sshd(pid, old_socket));
  (void)socket;
  return {};
}

Result<void> hold_port(const Spec& spec, int host, const std::string& argument) {
  std::uint16_t port = 0;
  const auto [end, bad] = std::from_chars(argument.data(), argument.data() + argument.size(), port);
  if (bad != std::errc() || end != argument.data() + argument.size() || port == 0) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("'{}' is not a port number", argument)});
  }
  int listener = -1;  // kept open by the process that stays
  const auto prepare = [&]() -> Result<void> {
    // The change of user has hidden this process in /proc from that user, but real processes of the
    // user are visible.
    (void)::prctl(PR_SET_DUMPABLE, 1);
    listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = ::htons(port);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
        ::listen(listener, 1) != 0) {
      return unexpected(system_error(fmt::format("cannot listen on port {}", port)));
    }
    return {};
  };
  MUSTER_TRY(const pid_t pid, leave_inside(spec, host_name(host), As::kUser, prepare, [] {
               while (true) ::pause();
             }));
  (void)pid;
  return {};
}

// A port of a RoCE card with the GIDs that the kernel makes: link-local and IPv4-mapped, each as
// RoCE v1 and v2.
std::string fake_rdma_script(const Spec& spec, int host) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  (void)std::sscanf(address(host, 0).c_str(), "%u.%u.%u.%u", &a, &b, &c, &d);
  const std::string mapped =
      fmt::format("0000:0000:0000:0000:0000:ffff:{:02x}{:02x}:{:02x}{:02x}", a, b, c, d);
  const std::string local = fmt::format("fe80:0000:0000:0000:0000:00ff:fe00:{:04x}", host);
  std::string script =
      "fake=/run/fake-rdma\n"
      "port=$fake/infiniband/mlx5_bond_0/ports/1\n"
      "mkdir -p $port/gids $port/gid_attrs/types $port/gid_attrs/ndevs\n"
      "echo '4: ACTIVE' > $port/state\necho '5: LinkUp' > $port/phys_state\n"
      "echo Ethernet > $port/link_layer\necho '100 Gb/sec (4X EDR)' > $port/rate\n";
  const std::array<std::pair<std::string, std::string_view>, 4> gids = {
      {{local, "IB/RoCE v1"}, {local, "RoCE v2"}, {mapped, "IB/RoCE v1"}, {mapped, "RoCE v2"}}};
  for (std::size_t i = 0; i < gids.size(); ++i) {
    script += fmt::format(
        "echo {1} > $port/gids/{0}\necho '{2}' > $port/gid_attrs/types/{0}\n"
        "echo {3} > $port/gid_attrs/ndevs/{0}\n",
        i, gids[i].first, gids[i].second, nic_name(spec, host, 0));
  }
  return script + "mount -t overlay -o lowerdir=$fake:/sys/class overlay /sys/class\n";
}

Result<void> fake_rdma(const Spec& spec, int host, const std::string& /*argument*/) {
  return shell(spec, host, fake_rdma_script(spec, host));
}

// 64 MB is the size in a container without --shm-size.
Result<void> small_shm(const Spec& spec, int host, const std::string& /*argument*/) {
  return shell(spec, host, "mount -o remount,size=64m /dev/shm");
}

// Sets the soft and the hard limit of sshd, which logins inherit, as with limits.d.
Result<void> login_limit(const Spec& spec, int host, const std::string& limit) {
  const std::size_t equals = limit.find('=');
  const auto is_in = [](std::string_view text, std::string_view characters) {
    return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
  };
  const std::string_view name = std::string_view(limit).substr(0, equals);
  const std::string_view value =
      equals == std::string::npos ? "" : std::string_view(limit).substr(equals + 1);
  if (!is_in(name, "abcdefghijklmnopqrstuvwxyz") || !is_in(value, "0123456789")) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = fmt::format("'{}' is not a limit", limit),
                            .hint = "write it as for prlimit: nofile=256"});
  }
  return shell(spec, host,
               fmt::format("prlimit --pid \"$(cat /run/sshd.pid)\" --{0}={1}:{1}", name, value));
}

// Removes the instruction sets for which compilers and libraries have their fastest code.
Result<void> other_cpu(const Spec& spec, int host, const std::string& /*argument*/) {
  return shell(spec, host,
               "sed -E '/^(flags|Features)/ s/ (avx|fma|sve|atomics|asimddp)[a-z0-9_]*//g' "
               "/proc/cpuinfo > /run/cpuinfo\n"
               "mount --bind /run/cpuinfo /proc/cpuinfo\n");
}

Result<void> duplicate_address(const Spec& spec, int host, const std::string& other) {
  MUSTER_TRY(const int owner, host_number(spec, other));
  const int nic = spec.nics - 1;
  const std::string interface = nic_name(spec, host, nic);
  std::string script = fmt::format("ip addr flush dev {}\n", interface);
  for (const HostAddress& one : addresses(spec, owner, nic)) {
    script += fmt::format("ip addr add {}/{} dev {}{}\n", one.ip, one.prefix_length, interface,
                          one.ip.find(':') == std::string::npos ? "" : " nodad");
  }
  return shell(spec, host, script);
}

constexpr std::array<Breakage, 11> kBreakages = {{
    {"docker0", "", "adds a bridge docker0 with the same address everywhere", docker0},
    {"loopback-name", "", "makes the host's own name resolve to 127.0.1.1", loopback_name},
    {"no-such-binary", "PATH", "removes this file from the host", no_such_binary},
    {"ssh-modes", "", "makes the user's home and ~/.ssh writable by everybody", ssh_modes},
    {"host-key", "", "gives sshd a new host key, as after a reinstallation", host_key},
    {"port", "PORT", "starts a process that listens on this TCP port", hold_port},
    {"fake-rdma", "", "shows a RoCE card in /sys that carries no traffic", fake_rdma},
    {"small-shm", "", "shrinks /dev/shm to 64 MB, as in a container", small_shm},
    {"limit", "NAME=N", "sets this limit for new logins, such as nofile=256", login_limit},
    {"other-cpu", "", "shows a CPU without AVX, FMA and SVE in /proc/cpuinfo", other_cpu},
    {"duplicate-address", "HOST", "the host takes the address of HOST in the last network",
     duplicate_address},
}};

}  // namespace

std::span<const Breakage> breakages() {
  return kBreakages;
}

namespace {

Error wrong_use(std::string_view name, std::string_view argument) {
  return {.code = ErrorCode::kUsage,
          .what = argument.empty() ? fmt::format("'{}' takes no argument", name)
                                   : fmt::format("'{}' needs its argument {}", name, argument)};
}

}  // namespace

Result<void> break_host(const Spec& spec, int host, std::string_view name,
                        const std::string& argument) {
  if (const Damage* damage = find_damage(name)) {
    if (damage->argument.empty() == argument.empty()) {
      return damage_host(spec, host, *damage, argument);
    }
    return unexpected(wrong_use(name, damage->argument));
  }
  std::string known;
  for (const Breakage& breakage : kBreakages) {
    if (breakage.name != name) {
      known += fmt::format(" {}", breakage.name);
      continue;
    }
    if (breakage.argument.empty() == argument.empty()) return breakage.apply(spec, host, argument);
    return unexpected(wrong_use(name, breakage.argument));
  }
  for (const Damage& damage : damages()) known += fmt::format(" {}", damage.name);
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("muster lab break does not know '{}'", name),
                          .hint = "one of:" + known});
}

}  // namespace muster::lab
