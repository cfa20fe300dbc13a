#include "lab/wire.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <random>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "lab/packet.hpp"

namespace muster::lab {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr std::size_t kMaxFrame = 65600;
constexpr std::size_t kMaxQueued = 8192;  // frames per direction; real ports drop frames too
constexpr int kFramesAtOnce = 64;
constexpr int kSocketBuffer = 8 << 20;
constexpr int kSshPort = 22;
constexpr int kHurry = -15;  // nice value of the wire process

struct Frame {
  Clock::time_point due;
  std::string bytes;
};

// One direction of the cable.
struct Lane {
  int from = -1;
  int to = -1;
  bool to_host = false;
  std::deque<Frame> queue = {};
};

Result<sys::Fd> open_interface(const std::string& name) {
  sys::Fd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, ::htons(ETH_P_ALL)));
  if (!socket.valid()) return unexpected(system_error("cannot open a packet socket"));
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = ::htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(name.c_str()));
  packet_mreq promiscuous{};
  promiscuous.mr_ifindex = address.sll_ifindex;
  promiscuous.mr_type = PACKET_MR_PROMISC;
  if (address.sll_ifindex == 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::setsockopt(socket.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous,
                   sizeof promiscuous) != 0) {
    return unexpected(system_error(fmt::format("cannot listen to {}", name)));
  }
  for (const int option : {SO_RCVBUFFORCE, SO_SNDBUFFORCE}) {
    ::setsockopt(socket.get(), SOL_SOCKET, option, &kSocketBuffer, sizeof kSocketBuffer);
  }
  return socket;
}

void send_due(Lane& lane, Clock::time_point now) {
  while (!lane.queue.empty() && lane.queue.front().due <= now) {
    const std::string& bytes = lane.queue.front().bytes;
    if (::send(lane.to, bytes.data(), bytes.size(), 0) < 0 && errno == EAGAIN) return;
    lane.queue.pop_front();
  }
}

void accept_frame(Lane& lane, const Shape& shape, std::string_view bytes, Clock::time_point now) {
  if (lane.queue.size() >= kMaxQueued) return;
  const auto due = now + std::chrono::microseconds(shape.delay_us) / 2;
  lane.queue.push_back({.due = due, .bytes = std::string(bytes)});
}

// Whether the shape drops every packet like this one. Other packets may still be lost by chance.
bool is_dropped(const Shape& shape, const Packet& packet, bool to_host) {
  const bool is_knock = to_host && packet.opens_port && *packet.opens_port != kSshPort;
  return (shape.only_ssh && is_knock) || (shape.largest > 0 && packet.bytes > shape.largest);
}

bool is_lost(const Shape& shape, std::string_view frame, bool to_host, double chance) {
  const auto packet = parse_packet(frame);
  const std::uint32_t peer = shape.lossy_peer;
  const bool concerned = peer == 0 || (packet && (packet->from == peer || packet->to == peer));
  if (!concerned) return false;
  return (packet && is_dropped(shape, *packet, to_host)) || chance < shape.loss;
}

void receive(Lane& lane, const Shape& shape, std::mt19937_64& random) {
  static char buffer[kMaxFrame];
  std::uniform_real_distribution<double> chance(0, 1);
  for (int i = 0; i < kFramesAtOnce; ++i) {
    const ssize_t size = ::recv(lane.from, buffer, sizeof buffer, 0);
    if (size <= 0) return;
    const std::string_view frame(buffer, static_cast<std::size_t>(size));
    if (is_lost(shape, frame, lane.to_host, chance(random))) continue;
    accept_frame(lane, shape, frame, Clock::now());
  }
}

timespec time_to(Clock::time_point next, Clock::time_point now) {
  const std::int64_t left = std::max<std::int64_t>(nanoseconds(next - now).count(), 0);
  return {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
}

}  // namespace

Wire::Wire(sys::Fd one, sys::Fd other, const Shape& shape)
    : ends_{std::move(one), std::move(other)}, shape_(shape) {}

Result<Wire> Wire::open(const std::string& one, const std::string& other, const Shape& shape) {
  MUSTER_TRY(sys::Fd first, open_interface(one));
  MUSTER_TRY(sys::Fd second, open_interface(other));
  return Wire(std::move(first), std::move(second), shape);
}

void Wire::carry() {
  // A real cable needs no CPU time, so run with high priority. If this is not permitted, the cable
  // is only slower.
  ::setpriority(PRIO_PROCESS, 0, kHurry);
  Lane lanes[2] = {{.from = ends_[0].get(), .to = ends_[1].get()},
                   {.from = ends_[1].get(), .to = ends_[0].get(), .to_host = true}};
  std::mt19937_64 random(std::random_device{}());
  while (true) {
    Clock::time_point now = Clock::now();
    Clock::time_point next = now + std::chrono::seconds(1);
    for (Lane& lane : lanes) {
      send_due(lane, now);
      if (!lane.queue.empty()) next = std::min(next, lane.queue.front().due);
    }
    const timespec wait = time_to(next, Clock::now());
    pollfd events[2] = {{.fd = lanes[0].from, .events = POLLIN, .revents = 0},
                        {.fd = lanes[1].from, .events = POLLIN, .revents = 0}};
    ::ppoll(events, 2, &wait, nullptr);
    for (int i = 0; i < 2; ++i) {
      if (events[i].revents != 0) receive(lanes[i], shape_, random);
    }
  }
}

}  // namespace muster::lab
