#include "agent/rank_links.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/output_reader.hpp"
#include "sys/local_socket.hpp"

namespace muster::agent {
namespace {

constexpr const char* kSocket = "/ranks";
constexpr std::string_view kOut = "out ";
constexpr std::string_view kErr = "err ";
constexpr std::size_t kOutputs = 2;  // standard output and standard error

// Which bytes a message carries: "out 123" names the stream and the position in it.
struct Place {
  sys::Stream stream = sys::Stream::kOut;
  std::uint64_t at = 0;
};

std::optional<Place> parse_place(std::string_view line) {
  const bool is_out = line.starts_with(kOut);
  if (!is_out && !line.starts_with(kErr)) return std::nullopt;
  Place place{.stream = is_out ? sys::Stream::kOut : sys::Stream::kErr};
  const char* end = line.data() + line.size();
  const auto [stop, bad] = std::from_chars(line.data() + kOut.size(), end, place.at);
  if (bad != std::errc() || stop != end) return std::nullopt;
  return place;
}

}  // namespace

Result<void> RankLinks::listen(const std::string& folder) {
  MUSTER_TRY(listener_, sys::listen_locally(folder + kSocket));
  return {};
}

void RankLinks::watch(std::vector<pollfd>& watched, const RankSpool& spool) const {
  watched.push_back({listener_.get(), POLLIN, 0});
  for (const Link& link : links_) {
    if (link.rank < 0 || spool.has_room(link.rank)) {
      watched.push_back({link.channel.in(), POLLIN, 0});
    }
  }
}

std::vector<int> RankLinks::held_back(const RankSpool& spool) const {
  std::vector<int> ranks;
  for (const Link& link : links_) {
    if (link.rank < 0 || link.superseded || spool.has_room(link.rank)) continue;
    int unread = 0;
    if (::ioctl(link.channel.in(), FIONREAD, &unread) == 0 && unread > 0) {
      ranks.push_back(link.rank);
    }
  }
  return ranks;
}

void RankLinks::admit() {
  while (true) {
    const int number = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (number < 0) return;
    links_.push_back({.channel = Channel(sys::Fd(number))});
  }
}

void RankLinks::take(Link& link, const Message& message, RankSpool& spool,
                     std::vector<Event>& events) {
  if (link.superseded) return;
  if (const auto place = parse_place(message.line)) {
    if (link.rank < 0) return;
    const Life& life = lives_[link.rank];
    const bool is_out = place->stream == sys::Stream::kOut;
    spool.add(link.rank, place->stream, place->at + (is_out ? life.out_before : life.err_before),
              message.payload);
    return;
  }
  auto event = parse_event(message.line);
  if (!event) return;
  if (const auto& start = event->start) begin_life(link, *start, spool, events);
  if (event->end) link.ended = true;
  events.push_back(*std::move(event));
}

void RankLinks::begin_life(Link& link, const RankStart& start, RankSpool& spool,
                           std::vector<Event>& events) {
  link.rank = start.rank;
  const auto [life, is_first] = lives_.try_emplace(link.rank, Life{.program = start.program});
  if (is_first || life->second.program == start.program) return;
  supersede(link, spool, events);
  life->second = {.program = start.program,
                  .out_before = spool.end(link.rank, sys::Stream::kOut),
                  .err_before = spool.end(link.rank, sys::Stream::kErr)};
}

// Marks the links of the rank's previous programs as superseded, after reading everything they
// wrote, so that their output precedes the output of the new program.
void RankLinks::supersede(const Link& by, RankSpool& spool, std::vector<Event>& events) {
  for (Link& link : links_) {
    if (&link == &by || link.rank != by.rank || link.superseded) continue;
    read(link, Reads::kAll, spool, events);
    read_unread(link, spool);
    link.superseded = true;
  }
}

void RankLinks::read(Link& link, Reads how, RankSpool& spool, std::vector<Event>& events) {
  if (how == Reads::kWhatFits && link.rank >= 0 && !spool.has_room(link.rank)) return;
  link.channel.receive(how == Reads::kAll ? kMaxLine : RankSpool::kPiece);
  for (sys::Fd& one : link.channel.take_descriptors()) {
    if (link.outputs.size() < kOutputs) link.outputs.push_back(std::move(one));
  }
  while (auto message = link.channel.next()) take(link, *message, spool, events);
}

// Reads what the program wrote but its rank process had not yet read when it was killed.
void RankLinks::read_unread(Link& link, RankSpool& spool) {
  if (link.ended || link.outputs.size() != kOutputs) return;
  const auto add = [&](sys::Stream which, std::uint64_t /*at*/, std::string_view bytes) {
    spool.add(link.rank, which, spool.end(link.rank, which), bytes);
  };
  OutputReader(sys::Stream::kOut, std::move(link.outputs[0])).read_rest(add);
  OutputReader(sys::Stream::kErr, std::move(link.outputs[1])).read_rest(add);
  link.outputs.clear();
}

std::vector<Event> RankLinks::receive(Reads how, RankSpool& spool, std::vector<int>& gone) {
  admit();
  std::vector<Event> events;
  for (auto link = links_.begin(); link != links_.end();) {
    read(*link, how, spool, events);
    if (link->channel.open()) {
      ++link;
      continue;
    }
    if (link->rank >= 0 && !link->ended && !link->superseded) {
      read_unread(*link, spool);
      gone.push_back(link->rank);
    }
    link = links_.erase(link);
  }
  return events;
}

sys::Fd connect_to_links(const std::string& folder) {
  return sys::connect_locally(folder + kSocket);
}

void hand_over_outputs(int connection, int out, int err) {
  sys::send_descriptors(connection, std::array{out, err});
}

std::string output_message(sys::Stream stream, std::uint64_t at, std::string_view bytes) {
  return with_payload(fmt::format("{}{}\n", stream == sys::Stream::kOut ? kOut : kErr, at), bytes);
}

}  // namespace muster::agent
