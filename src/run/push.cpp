#include "run/push.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sys/quote.hpp"

namespace muster::run {
namespace {

// The beginning of the line in which a host names its architecture.
constexpr std::string_view kMachineIs = "muster-machine ";

// Runs the script in a POSIX shell, because the login shell may be any shell.
std::string in_sh(const std::string& script) {
  return "exec /bin/sh -c " + sys::quote(script);
}

}  // namespace

std::vector<std::string> push_bases(unsigned uid) {
  return {fmt::format("/tmp/muster-{}", uid), fmt::format("/var/tmp/muster-{}", uid),
          fmt::format("/dev/shm/muster-{}", uid)};
}

std::string binary_path(const std::string& base, const std::string& folder) {
  return base + "/" + folder + "/muster";
}

std::string agent_line(const std::string& base, const std::string& folder) {
  return in_sh(fmt::format(
      "d={} f={}\n"
      "if [ -e $d ] || [ -L $d ]; then\n"
      "  [ ! -L $d ] && [ -d $d ] && [ -O $d ] && [ \"$(stat -c %a $d)\" = 700 ] || exit {}\n"
      "  [ -x $f ] && [ -O $f ] && exec $f agent\n"
      "fi\n"
      "echo \"{}$(uname -m)\" >&2\n"
      "exit {}",
      base, binary_path(base, folder), kNotOurs, kMachineIs, kNotThere));
}

std::string_view told_machine(std::string_view err) {
  std::string_view told;
  while (!err.empty()) {
    const std::size_t end = std::min(err.find('\n'), err.size());
    const std::string_view line = err.substr(0, end);
    if (line.starts_with(kMachineIs)) told = line.substr(kMachineIs.size());
    err.remove_prefix(std::min(end + 1, err.size()));
  }
  return told;
}

std::string push_line(const std::string& base, const std::string& folder, const Binary& binary) {
  return in_sh(fmt::format(
      "umask 077; d={0} h={0}/{5} t={0}/{5}/muster.$$\n"
      "[ -d $d ] || mkdir -m 700 $d\n"
      "[ ! -L $d ] && [ -d $d ] && [ -O $d ] && [ \"$(stat -c %a $d)\" = 700 ] || exit {3}\n"
      "mkdir -p $h && cat > $t && chmod 700 $t || {{ rm -f $t; exit {4}; }}\n"
      "[ \"$(wc -c < $t)\" -eq {2} ] && [ \"$($t agent --hash)\" = {1} ] || {{ rm -f $t; exit {4}; "
      "}}\n"
      "mv -f $t $h/muster",
      base, binary.hash, binary.bytes, kNotOurs, kCannotRun, folder));
}

}  // namespace muster::run
