#include "fake_hosts.hpp"

#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "run/push.hpp"

namespace muster::run {
namespace {

constexpr const char* kNameGoesHere = "NAME-GOES-HERE";
constexpr int kDescriptor = 1000;  // of each host's first session; never used for I/O

// Returns the kind of an order. A JSON parser would take too long for ten thousand hosts.
std::string kind_of(const std::string& line) {
  constexpr std::string_view kKey = "\"order\":\"";
  const std::size_t at = line.find(kKey);
  if (at == std::string::npos) return {};
  const std::size_t from = at + kKey.size();
  return line.substr(from, line.find('"', from) - from);
}

std::string beat_line(double clock_s) {
  return fmt::format("{{\"report\":\"beat\",\"clock_s\":{}}}\n", clock_s);
}

// For up to 64,000 hosts, in 198.18.0.0/16.
std::string address_of(std::size_t host) {
  constexpr std::size_t kPerByte = 250;
  return fmt::format("198.18.{}.{}", host / kPerByte, host % kPerByte + 1);
}

void replace_all(std::string& text, std::string_view old, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += with.size()) {
    text.replace(at, old.size(), with);
  }
}

agent::Report event_of(const agent::Event& event) {
  return {.kind = agent::Report::Kind::kEvent, .event = event};
}

}  // namespace

class FakeHost::FakeSession : public remote::Session {
 public:
  FakeSession(FakeHost& host, remote::SessionPlan session_plan, int number)
      : plan(std::move(session_plan)), host_(host), number_(number) {}
  FakeSession(const FakeSession&) = delete;
  FakeSession& operator=(const FakeSession&) = delete;
  ~FakeSession() override = default;

  void write(std::string bytes) override {
    if (opening) {
      unsent += bytes;
    } else {
      host_.receive(*this, bytes);
    }
  }
  void opened() {
    opening = false;
    host_.receive(*this, std::exchange(unsent, {}));
  }
  void close_input() override {}
  void abandon() override { end({.ended = sys::Ended{.signal = SIGKILL}}); }
  [[nodiscard]] int input_descriptor() const override { return kDescriptor + 2 * number_; }
  [[nodiscard]] int output_descriptor() const override { return kDescriptor + 2 * number_ + 1; }

  void end(remote::SessionEnd how) {
    if (std::exchange(over, true)) return;
    host_.all_.loop().after(0, [self = weak, how = std::move(how)] {
      const auto held = self.lock();
      if (held && held->plan.on_end) std::exchange(held->plan.on_end, nullptr)(how);
    });
  }

  remote::SessionPlan plan;
  std::weak_ptr<FakeSession> weak;
  std::string unread;
  std::string unsent;  // written before the session was open
  bool opening = false;
  bool over = false;

 private:
  FakeHost& host_;
  int number_;
};

std::shared_ptr<FakeHost::FakeSession> FakeHost::open(remote::SessionPlan plan) {
  const bool fresh = plan.fresh;
  auto session = std::make_shared<FakeSession>(*this, std::move(plan), sessions_++);
  session->weak = session;
  open_.push_back(session);
  if (gone_ && how_ == Gone::kCut) {
    session->end({.ended = unexpected(Error{.code = ErrorCode::kUnreachable,
                                            .what = "connection refused",
                                            .where = {.host = name_}}),
                  .failure_id = "ssh-refused"});
  } else if (!gone_ && behaviour.shell_code != 0) {
    session->end({.ended = sys::Ended{
                      .code = behaviour.shell_code, .out = {}, .err = behaviour.shell_says}});
  } else if (!gone_ && all_.on_open) {
    session->opening = true;
    all_.on_open(fresh, [weak = session->weak] {
      if (const auto held = weak.lock()) held->opened();
    });
  }
  return session;
}

void FakeHost::receive(FakeSession& session, const std::string& bytes) {
  if (gone_ || session.over) return;
  session.unread += bytes;
  for (std::size_t end = 0; (end = session.unread.find('\n')) != std::string::npos;) {
    const std::string line = session.unread.substr(0, end);
    session.unread.erase(0, end + 1);
    const std::string kind = kind_of(line);
    if (kind != "beat") orders_ += kind + " ";
    if (kind == "hello") {
      session_ = session.weak;
      hello(line.find("\"request\"") != std::string::npos);
    } else if (kind == "listen" || kind == "connect") {
      const auto said = behaviour.answer ? behaviour.answer(agent::parse_order(line).value())
                                         : std::optional<agent::Report>();
      if (said) send(*said);
    } else if (kind == "end") {
      if (reach(Point::kEnd)) this->end(agent::parse_order(line).value().grace_s);
    } else if (kind == "inspect") {
      be_inspected(agent::parse_order(line).value().inspection);
    } else {
      obey(session, kind);
    }
    if (gone_) return;
  }
}

void FakeHost::hello(bool with_request) {
  if (!reach(Point::kHello)) return;
  if (!with_request) {  // from a launcher that lost its connection: does the run still exist?
    if (warden_ && !behaviour.forgets) return;
    return send(
        {.kind = agent::Report::Kind::kFailed, .text = "the run has already ended on this host"});
  }
  say(Point::kBeat, {.kind = agent::Report::Kind::kBeat,
                     .clock_s = all_.loop().unix_time() + behaviour.clock_ahead_s});
  if (!reach(Point::kBeat)) return;
  if (behaviour.facts_take_s <= 0) return tell_facts();
  all_.loop().after(behaviour.facts_take_s, [this] { tell_facts(); });
}

void FakeHost::tell_facts() {
  if (!behaviour.leaves_out.contains(Point::kFacts)) send(all_.facts_line(name_));
  (void)reach(Point::kFacts);
}

void FakeHost::obey(FakeSession& session, const std::string& kind) {
  if (kind == "place") {
    (void)reach(Point::kPlace);
  } else if (kind == "begin") {
    if (reach(Point::kBegin)) begin();
  } else if (kind == "beat" && !warden_) {
    send({.kind = agent::Report::Kind::kBeat, .clock_s = all_.loop().unix_time()});
  } else if (kind == "bye") {
    said_bye_ = true;
    if (!reach(Point::kBye)) return;
    warden_ = false;
    session.end({.ended = sys::Ended{}});
  }
}

void FakeHost::be_inspected(const agent::Inspection& what) {
  if (!running() || behaviour.ignores_inspections) return;
  const bool computes = behaviour.computes || (what.stacks && behaviour.computes_in_whole_looks);
  agent::Report found{.kind = agent::Report::Kind::kInspection, .inspection = what.number};
  for (const int rank : ranks) {
    found.view.ranks.push_back({.rank = rank,
                                .pid = 1,
                                .processes = {{.pid = 1, .cpu = computes ? 1.0 : 0.0}},
                                .watched = !behaviour.not_watched});
  }
  all_.loop().after(what.window_ms / 1e3, [this, found] {
    if (running()) send(found);
  });
}

void FakeHost::begin() {
  if (behaviour.forgets && sessions_ > 1) return;
  const bool again = std::exchange(warden_, true);
  say(Point::kReady, {.kind = agent::Report::Kind::kReady});
  if (!reach(Point::kReady)) return;
  for (const std::string& event : events_) send(event);
  if (!again) beat(++beats_);
}

void FakeHost::beat(int number) {
  if (!warden_ || number != beats_) return;
  send(beat_line(all_.loop().unix_time() + behaviour.clock_ahead_s));
  all_.loop().after(all_.beat_every_s, [this, number] { beat(number); });
}

void FakeHost::start_ranks() {
  if (running_ || gone_ || ending_ || ranks.empty()) return;
  running_ = true;
  for (const int rank : ranks) {
    const agent::Report start = event_of(
        {.start = agent::RankStart{.rank = rank, .program = {.pid = 100 + rank, .start = 1}},
         .end = {}});
    events_.push_back(to_line(start));
    if (!behaviour.leaves_out.contains(Point::kStart)) send(events_.back());
  }
  if (!reach(Point::kStart)) return;
  for (const int rank : ranks) {
    if (behaviour.output.empty()) continue;
    const std::string piece = to_line(agent::Report{
        .kind = agent::Report::Kind::kOutput, .piece = {.rank = rank, .bytes = behaviour.output}});
    if (behaviour.gone_at == Point::kOutput) send(piece.substr(0, piece.size() / 2));
    if (!reach(Point::kOutput)) return;
    send(piece);
  }
  all_.loop().after(behaviour.ranks_live_s, [this] { live_no_longer(); });
}

// The ranks continue while the host is cut off. It reports their ends when it is back.
void FakeHost::live_no_longer() {
  over_ = true;
  if (!running() || gone_) return;
  end_ranks(behaviour.status, false);
  if (all_.on_ranks_end) all_.on_ranks_end(*this, behaviour.status);
}

void FakeHost::end_ranks(int status, bool by_engine) {
  if (!running()) return;
  ranks_ended_ = true;
  for (const int rank : ranks) {
    const auto bytes = static_cast<std::uint64_t>(behaviour.output.size());
    events_.push_back(
        to_line(event_of({.start = {},
                          .end = agent::RankEnd{.rank = rank,
                                                .status = status,
                                                .time_s = all_.loop().unix_time(),
                                                .out_bytes = bytes,
                                                .by_engine = by_engine,
                                                .timed_out = behaviour.timed_out && !by_engine,
                                                .cut_off = behaviour.cut_off && !by_engine}})));
    if (!behaviour.leaves_out.contains(Point::kRanks)) send(events_.back());
  }
  (void)reach(Point::kRanks);
}

void FakeHost::end(double grace_s) {
  const bool is_first = !std::exchange(ending_, true);
  if (behaviour.deaf || (!is_first && grace_s > 0)) return;
  all_.loop().after(running() ? grace_s / 2 : 0, [this] { finish_end(); });
}

void FakeHost::finish_end() {
  if (gone_) return;
  end_ranks(SIGTERM, true);
  if (gone_) return;
  say(Point::kDone, {.kind = agent::Report::Kind::kDone});
  (void)reach(Point::kDone);
}

void FakeHost::say(Point point, const agent::Report& report) {
  if (!behaviour.leaves_out.contains(point)) send(report);
}

void FakeHost::send(const std::string& bytes) {
  if (gone_) return;
  for (int i = 0; i < (behaviour.twice ? 2 : 1); ++i) {
    all_.loop().after(behaviour.answers_after_s, [session = session_, bytes] {
      const auto held = session.lock();
      if (held && !held->over && held->plan.on_output) held->plan.on_output(bytes);
    });
  }
}

bool FakeHost::reach(Point point) {
  if (const auto said = behaviour.says.find(point); said != behaviour.says.end()) {
    send(said->second);
  }
  if (behaviour.gone_at != point) return true;
  behaviour.gone_at = Point::kNever;
  vanish(behaviour.gone, behaviour.back_after_s);
  return false;
}

// Messages sent before the host vanished still arrive.
void FakeHost::vanish(Gone how, double seconds) {
  gone_ = true;
  how_ = how;
  for (const auto& weak : open_) {
    const auto session = weak.lock();
    if (!session || how != Gone::kCut) continue;
    all_.loop().after(behaviour.answers_after_s, [session, name = name_] {
      session->end({.ended = unexpected(Error{.code = ErrorCode::kUnreachable,
                                              .what = "the connection was closed",
                                              .where = {.host = name}})});
    });
  }
  if (seconds > 0) all_.loop().after(seconds, [this] { come_back(); });
}

void FakeHost::come_back() {
  gone_ = false;
  if (behaviour.forgets) {
    warden_ = running_ = false;
    events_.clear();
    return;
  }
  if (warden_) beat(++beats_);
  if (over_) live_no_longer();
}

FakeHosts::FakeHosts(FakeLoop& loop, int count, int ranks_each) : loop_(loop) {
  tell({});
  for (int i = 0; i < count; ++i) {
    hosts_.push_back(std::make_unique<FakeHost>(*this, fmt::format("n{}", i + 1)));
    by_name_[hosts_.back()->name()] = hosts_.size() - 1;
    for (int k = 0; k < ranks_each; ++k) hosts_.back()->ranks.push_back(i * ranks_each + k);
  }
}

std::vector<std::string> FakeHosts::names() const {
  std::vector<std::string> names;
  for (const auto& host : hosts_) names.push_back(host->name());
  return names;
}

void FakeHosts::tell(facts::Facts facts) {
  facts.host = facts.hostname = kNameGoesHere;
  facts_ = to_line(agent::Report{.kind = agent::Report::Kind::kFacts, .facts = std::move(facts)});
}

std::string FakeHosts::facts_line(const std::string& host) {
  std::string line = facts_;
  replace_all(line, kNameGoesHere, host);
  replace_all(line, kAddressGoesHere, address_of(by_name_.at(host)));
  return line;
}

std::vector<remote::Outcome> FakeHosts::run(std::span<const remote::Task> tasks,
                                            std::chrono::milliseconds /*deadline*/) {
  std::vector<remote::Outcome> outcomes;
  for (const remote::Task& task : tasks) {
    FakeHost& host = *hosts_[by_name_.at(task.host)];
    ++pushed;
    if (task.input) pushed_bytes[task.host] = *task.input;
    if (host.behaviour.program_missing.empty()) {
      host.behaviour.shell_code = 0;
      outcomes.push_back({task.host, sys::Ended{}});
    } else {
      outcomes.push_back(
          {task.host, sys::Ended{.code = 1, .out = {}, .err = host.behaviour.program_missing}});
    }
  }
  return outcomes;
}

remote::Silence FakeHosts::silence(const std::string& host) const {
  return {.failure_id = "host-silent", .trial = "ssh " + host};
}

std::shared_ptr<remote::Session> FakeHosts::open(sys::Loop& /*loop*/, remote::SessionPlan plan) {
  FakeHost& host = *hosts_[by_name_.at(plan.host)];
  return host.open(std::move(plan));
}

}  // namespace muster::run
