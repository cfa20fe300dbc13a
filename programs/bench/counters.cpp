#include "programs/bench/counters.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace muster::programs::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPortUnit = 4;  // the port counters count words of this many bytes
constexpr std::int64_t kLeastToTell = std::int64_t{1} << 20;
constexpr std::int64_t kInfiniBandType = 32;  // the kernel's number for IP over InfiniBand

std::optional<std::int64_t> read_counter(const fs::path& file) {
  std::ifstream stream(file);
  std::int64_t value = 0;
  if (!(stream >> value)) return std::nullopt;
  return value;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

void add_device(std::vector<DeviceBytes>& all, DeviceBytes device, const fs::path& sent,
                const fs::path& received) {
  const auto out = read_counter(sent);
  const auto in = read_counter(received);
  if (!out || !in) return;
  const std::int64_t unit = device.rdma ? kPortUnit : 1;
  device.sent = *out * unit;
  device.received = *in * unit;
  all.push_back(std::move(device));
}

bool is_stacked(const fs::path& interface) {
  return std::ranges::any_of(entries_of(interface), [](const fs::path& entry) {
    return entry.filename().string().starts_with("lower_");
  });
}

// Returns the InfiniBand port through which the interface's IP traffic passes, or "" if there is
// none.
std::string port_below(const fs::path& root, const fs::path& interface) {
  if (read_counter(interface / "type") != kInfiniBandType) return "";
  const auto devices = entries_of(interface / "device/infiniband");
  if (devices.empty()) return "";
  const std::string device = devices.front().filename();
  const std::int64_t number = read_counter(interface / "dev_port").value_or(0) + 1;
  const fs::path port = root / "class/infiniband" / device / "ports" / std::to_string(number);
  std::string layer;
  std::ifstream(port / "link_layer") >> layer;
  return layer == "InfiniBand" ? device + ":" + std::to_string(number) : "";
}

}  // namespace

std::vector<DeviceBytes> read_counters(const fs::path& root) {
  std::vector<DeviceBytes> all;
  for (const auto& interface : entries_of(root / "class/net")) {
    if (interface.filename() == "lo" || is_stacked(interface)) continue;
    const fs::path folder = interface / "statistics";
    add_device(all, {.name = interface.filename(), .port = port_below(root, interface)},
               folder / "tx_bytes", folder / "rx_bytes");
  }
  for (const auto& device : entries_of(root / "class/infiniband")) {
    for (const auto& port : entries_of(device / "ports")) {
      const fs::path folder = port / "counters";
      const std::string name = device.filename().string() + ":" + port.filename().string();
      add_device(all, {.name = name, .rdma = true}, folder / "port_xmit_data",
                 folder / "port_rcv_data");
    }
  }
  return all;
}

std::vector<DeviceBytes> difference(const std::vector<DeviceBytes>& before,
                                    const std::vector<DeviceBytes>& after) {
  std::vector<DeviceBytes> moved;
  for (const auto& now : after) {
    const auto then = std::ranges::find_if(before, [&](const DeviceBytes& each) {
      return each.name == now.name && each.rdma == now.rdma;
    });
    if (then == before.end()) continue;
    // A counter may restart from zero.
    moved.push_back({.name = now.name,
                     .rdma = now.rdma,
                     .sent = std::max<std::int64_t>(0, now.sent - then->sent),
                     .received = std::max<std::int64_t>(0, now.received - then->received),
                     .port = now.port});
  }
  for (const auto& interface : moved) {
    for (auto& port : moved) {
      if (!port.rdma || port.name != interface.port) continue;
      port.sent = std::max<std::int64_t>(0, port.sent - interface.sent);
      port.received = std::max<std::int64_t>(0, port.received - interface.received);
    }
  }
  return moved;
}

bool mostly_rdma(const std::vector<DeviceBytes>& moved, std::int64_t least) {
  if (least < kLeastToTell) return false;
  std::int64_t all = 0;
  std::int64_t rdma = 0;
  for (const auto& device : moved) {
    all += device.sent;
    if (device.rdma) rdma += device.sent;
  }
  return 2 * rdma > all && 2 * rdma >= least;
}

// The file has two lines that start with "Tcp:": names, then numbers.
Segments count_segments(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> names;
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("Tcp: ")) continue;
    std::istringstream words(line.substr(5));
    if (names.empty()) {
      for (std::string name; words >> name;) names.push_back(name);
      continue;
    }
    Segments segments;
    std::int64_t value = 0;
    for (std::size_t i = 0; i < names.size() && words >> value; ++i) {
      if (names[i] == "OutSegs") segments.sent = value;
      if (names[i] == "RetransSegs") segments.resent = value;
    }
    return segments;
  }
  return {};
}

double resent_share(const Segments& before, const Segments& after) {
  constexpr std::int64_t kFewest = 100;
  const std::int64_t sent = after.sent - before.sent;
  const std::int64_t resent = after.resent - before.resent;
  if (sent < kFewest || resent <= 0) return 0;
  return std::min(1.0, static_cast<double>(resent) / static_cast<double>(sent));
}

}  // namespace muster::programs::bench
