#include "run/inquiry.hpp"

#include <utility>

#include <fmt/format.h>

namespace muster::run {
namespace {

// The most time for the round trip, in addition to the time that the host needs.
constexpr std::chrono::milliseconds kWayTakes{1000};

}  // namespace

void Inquiry::begin(const agent::Inspection& what, Urgency urgency, Then then) {
  if (then_ && urgency <= urgency_) {
    const double left_s = std::chrono::duration<double>(until_ - loop_.now()).count();
    return then(unexpected(
        Error{.code = ErrorCode::kTimeout,
              .what = fmt::format("another inspection of this run is under way; it takes up to "
                                  "{:.0f} s more",
                                  std::max(left_s, 1.0))}));
  }
  cancel(urgency, "muster itself had to inspect the run at this moment; ask again");
  then_ = std::move(then);
  urgency_ = urgency;
  agent::Inspection numbered = what;
  numbered.number = ++number_;
  views_.clear();
  asked_ = ask_(numbered);
  const auto time =
      asked_.empty() ? std::chrono::milliseconds(0) : what.takes_at_most() + kWayTakes;
  until_ = loop_.now() + time;
  deadline_ = loop_.timer(time, {}, [this] { finish(std::move(views_)); });
}

void Inquiry::take(const std::string& host, int number, inspect::HostView view) {
  if (!then_ || number != number_ || !asked_.contains(host)) return;
  views_[host] = std::move(view);
  if (views_.size() == asked_.size()) finish(std::move(views_));
}

void Inquiry::leave_out(const std::string& host) {
  if (!then_ || views_.contains(host) || asked_.erase(host) == 0) return;
  if (views_.size() == asked_.size()) finish(std::move(views_));
}

void Inquiry::cancel(Urgency most, const std::string& why) {
  if (then_ && urgency_ <= most) finish(unexpected(Error{.what = why}));
}

std::optional<Urgency> Inquiry::under_way() const {
  return then_ ? std::optional(urgency_) : std::nullopt;
}

void Inquiry::finish(Result<HostViews> views) {
  deadline_ = nullptr;
  const Then then = std::exchange(then_, nullptr);
  then(std::move(views));
}

}  // namespace muster::run
