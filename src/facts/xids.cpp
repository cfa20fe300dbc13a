#include "facts/xids.hpp"

#include <algorithm>

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>

#include "base/lower_case.hpp"
#include "facts/kernel_log.hpp"
#include "facts/pci.hpp"
#include "facts/pseudo_file.hpp"
#include "facts/vendor_tool.hpp"
#include "sys/file.hpp"

namespace muster::facts {
namespace {

constexpr std::string_view kXidMark = "NVRM: Xid (PCI:";
constexpr std::size_t kMostXids = 64;  // different codes per GPU

// Returns -1 if the line contains no time.
double seconds_ago_of(std::string_view line, double uptime_s) {
  const std::size_t semicolon = line.find(';');
  if (semicolon == std::string_view::npos) return -1;
  const auto parts = split(line.substr(0, semicolon), ',');
  const auto micros = parts.size() >= 3 ? number<std::uint64_t>(parts[2]) : std::nullopt;
  if (!micros) return -1;
  return std::max(uptime_s - static_cast<double>(*micros) * 1e-6, 0.0);
}

void count_xid(std::vector<Xid>& xids, int code, double seconds_ago) {
  const auto found =
      std::find_if(xids.begin(), xids.end(), [&](const Xid& xid) { return xid.code == code; });
  if (found == xids.end() && xids.size() == kMostXids) return;
  Xid& xid = found == xids.end() ? xids.emplace_back(Xid{.code = code}) : *found;
  ++xid.count;
  xid.seconds_ago = seconds_ago;
}

double uptime() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Result<std::string> read_kernel_log(const std::string& path) {
  const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return unexpected(system_error("cannot read the kernel's log", path));
  return read_kernel_records(fd.get());
}

}  // namespace

XidsByPci parse_xids(std::string_view text, double uptime_s) {
  XidsByPci found;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t at = line.find(kXidMark);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + kXidMark.size());
    const std::size_t end = rest.find("): ");
    if (end == std::string_view::npos) continue;
    std::string place(rest.substr(0, end));
    if (place.find('.') == std::string::npos) place += ".0";
    const std::string pci = pci_address(place);
    const std::string_view code = rest.substr(end + 3);
    const auto value = number<int>(code.substr(0, code.find_first_not_of("0123456789")));
    if (pci.empty() || !value || (found.size() == 256 && !found.contains(pci))) continue;
    count_xid(found[pci], *value, seconds_ago_of(line.substr(0, at), uptime_s));
  }
  return found;
}

Result<XidsByPci> read_xids(const std::string& kmsg, const std::string& journalctl,
                            std::chrono::milliseconds deadline) {
  auto log = read_kernel_log(kmsg);
  if (log) return parse_xids(*log, uptime());
  if (journalctl.empty()) return unexpected(log.error());
  const ToolArguments question = {"--dmesg",     "--quiet",      "--no-pager",      "--output=cat",
                                  "--lines=500", "--since=-24h", "--grep=NVRM: Xid"};
  const auto journal = std::move(ask_tool(journalctl, {&question, 1}, deadline).front());
  // journalctl exits with 1 if nothing matches, and also if it may not read the journal. Only in
  // the second case does it print an error.
  const bool may_read = journal && !journal->timed_out && journal->signal == 0 &&
                        journal->code <= 1 && trimmed(journal->err).empty();
  if (!may_read) return unexpected(log.error());
  return parse_xids(journal->out, 0);
}

}  // namespace muster::facts
