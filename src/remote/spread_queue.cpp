#include "remote/spread_queue.hpp"

#include <algorithm>
#include <utility>

namespace muster::remote {

SpreadQueue::SpreadQueue(std::size_t hosts, std::size_t fan_out, std::uint64_t bytes, Time now)
    : hosts_(hosts), fan_out_(std::max<std::size_t>(fan_out, 1)), bytes_(bytes), news_(now) {}

bool SpreadQueue::is_source(const Host& host) const {
  return host.state == State::kHolds && host.failed_as_source < kFailuresOfHost;
}

std::optional<SpreadMove> SpreadQueue::between_hosts() const {
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (is_source(hosts_[i]) && !hosts_[i].sends) free.push_back(i);
  }
  if (free.empty()) return std::nullopt;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].state != State::kWaiting) continue;
    const auto& failed = hosts_[i].failed_sources;
    for (const std::size_t source : free) {
      if (std::find(failed.begin(), failed.end(), source) == failed.end()) {
        return SpreadMove{i, source};
      }
    }
  }
  return std::nullopt;
}

SpreadQueue::Duration SpreadQueue::patience() const {
  const Duration base = std::max<Duration>(kPatience, 2 * longest_);
  return base * (1U << std::min(without_news_, 16U));
}

std::optional<SpreadMove> SpreadQueue::from_here(Time now) {
  const auto sources = std::count_if(hosts_.begin(), hosts_.end(),
                                     [this](const Host& host) { return is_source(host); });
  const bool is_late = now - news_ >= patience();
  if (active_from_here_ + static_cast<std::size_t>(sources) >= kFromHere && !is_late) {
    return std::nullopt;
  }
  const auto waiting = std::find_if(hosts_.begin(), hosts_.end(),
                                    [](const Host& host) { return host.state == State::kWaiting; });
  if (waiting == hosts_.end()) return std::nullopt;
  if (is_late) {
    ++without_news_;
    news_ = now;
  }
  return SpreadMove{static_cast<std::size_t>(waiting - hosts_.begin())};
}

std::optional<SpreadMove> SpreadQueue::next(Time now) {
  if (active_ >= fan_out_ || has_given_up()) return std::nullopt;
  auto move = between_hosts();
  if (!move) move = from_here(now);
  if (!move) return std::nullopt;
  Host& host = hosts_[move->host];
  host.state = State::kReceives;
  host.source = move->source;
  host.since = now;
  ++active_;
  if (move->source) {
    hosts_[*move->source].sends = true;
    host.holds_source = true;
  } else {
    ++active_from_here_;
  }
  return move;
}

void SpreadQueue::sent(std::size_t host) {
  // Once only: afterwards the source may send to another host.
  if (std::exchange(hosts_[host].holds_source, false)) hosts_[*hosts_[host].source].sends = false;
}

void SpreadQueue::ended(std::size_t index, bool verified, Time now) {
  Host& host = hosts_[index];
  sent(index);
  --active_;
  news_ = now;
  without_news_ = 0;
  if (verified) longest_ = std::max(longest_, now - host.since);
  if (!host.source) {
    --active_from_here_;
    host.state = verified ? State::kHolds : State::kLeftOut;
    return;
  }
  const std::size_t source = *host.source;
  host.source.reset();
  if (verified) {
    ++succeeded_;
    host.state = State::kHolds;
    return;
  }
  ++failed_;
  ++hosts_[source].failed_as_source;
  host.failed_sources.push_back(source);
  host.state = host.failed_sources.size() < kFailuresOfHost ? State::kWaiting : State::kLeftOut;
}

bool SpreadQueue::over() const {
  if (active_ > 0) return false;
  return has_given_up() || std::none_of(hosts_.begin(), hosts_.end(), [](const Host& host) {
           return host.state == State::kWaiting;
         });
}

SpreadQueue::Duration SpreadQueue::limit() const {
  if (longest_ > Duration::zero()) {
    return kBeyondLimit + std::max<Duration>(4 * longest_, std::chrono::seconds(bytes_ / kSlow));
  }
  return kBeyondLimit + std::chrono::seconds(bytes_ / kSlowest);
}

}  // namespace muster::remote
