// Decides which host gets its files next, and from whom, when hosts send files to each other. Pure:
// knows no processes, and learns the time from its caller.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace muster::remote {

// Sends the files to a host. No source: this machine sends them.
struct SpreadMove {
  std::size_t host = 0;
  std::optional<std::size_t> source = std::nullopt;
};

// This machine sends to the first few hosts. Every host whose copy is verified becomes a source and
// sends to one waiting host at a time. Hosts for which this does not work are left to the caller,
// who sends to all hosts afterwards anyway.
class SpreadQueue {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  static constexpr std::size_t kFromHere = 4;        // hosts to which this machine sends at a time
  static constexpr std::size_t kFailuresOfHost = 2;  // as a source or as a target
  // If so many transfers between hosts fail and none succeeds, no more are tried.
  static constexpr std::size_t kFailuresOfAll = 4;
  // After so long without news, this machine sends to one host more; then after twice the time, and
  // so on. The wait is also at least twice the longest transfer so far.
  static constexpr std::chrono::seconds kPatience{30};
  static constexpr std::chrono::seconds kBeyondLimit{60};  // see limit()
  static constexpr std::uint64_t kSlow = 20'000'000;       // bytes per second
  static constexpr std::uint64_t kSlowest = 1'000'000;     // the same, before the first success

  // At most `fan_out` moves take place at a time. `bytes` is the size of all files together.
  SpreadQueue(std::size_t hosts, std::size_t fan_out, std::uint64_t bytes, Time now);

  // The next move to start. Nothing if none may start now. The answer changes with each end of a
  // move, and with time.
  [[nodiscard]] std::optional<SpreadMove> next(Time now);

  // The source of this host's move is free again; the host verifies its copy.
  void sent(std::size_t host);
  // The move has ended. `verified`: the host now has the same files as this machine.
  void ended(std::size_t host, bool verified, Time now);

  // Whether no move takes place and next() will return no more.
  [[nodiscard]] bool over() const;
  // How long one move may take: four times the longest successful one, or the time at kSlow if that
  // is longer, and a minute. Before the first success, the time at kSlowest and a minute.
  [[nodiscard]] Duration limit() const;

 private:
  enum class State { kWaiting, kReceives, kHolds, kLeftOut };
  struct Host {
    State state = State::kWaiting;
    bool sends = false;
    bool holds_source = false;  // the source of the current move is not yet free
    std::size_t failed_as_source = 0;
    std::optional<std::size_t> source = std::nullopt;  // of the current move
    std::vector<std::size_t> failed_sources = {};
    Time since = {};
  };

  [[nodiscard]] bool is_source(const Host& host) const;
  [[nodiscard]] bool has_given_up() const { return succeeded_ == 0 && failed_ >= kFailuresOfAll; }
  [[nodiscard]] std::optional<SpreadMove> between_hosts() const;
  [[nodiscard]] std::optional<SpreadMove> from_here(Time now);
  [[nodiscard]] Duration patience() const;

  std::vector<Host> hosts_;
  std::size_t fan_out_;
  std::uint64_t bytes_;
  std::size_t active_ = 0;
  std::size_t active_from_here_ = 0;
  std::size_t succeeded_ = 0;  // transfers between hosts
  std::size_t failed_ = 0;
  Duration longest_ = {};  // of the successful moves
  Time news_;              // when a move last ended, or was started for lack of news
  unsigned without_news_ = 0;
};

}  // namespace muster::remote
