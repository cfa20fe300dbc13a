// Fake hosts that speak the agent's protocol inside the test. Each answers, misbehaves and
// disappears as its Behaviour says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/protocol.hpp"
#include "fake_loop.hpp"
#include "remote/transport.hpp"

namespace muster::run {

// The points of the protocol, in order.
enum class Point {
  kHello,   // hello was received, and nothing was sent
  kBeat,    // the first beat was sent
  kFacts,   // the facts were sent
  kPlace,   // place was received
  kBegin,   // begin was received
  kReady,   // ready was sent
  kStart,   // the starts of the ranks were sent
  kOutput,  // half a piece of output was sent
  kRanks,   // the ends of the ranks were sent
  kEnd,     // end was received
  kDone,    // done was sent
  kBye,     // bye was received
  kNever,
};

enum class Gone {
  kSilent,  // as if its cable was unplugged: connections stay open without data
  kCut,     // its connections end, and new ones are rejected
};

struct Behaviour {
  double answers_after_s = 0.01;
  Point gone_at = Point::kNever;
  Gone gone = Gone::kSilent;
  double back_after_s = 0;                 // 0: it stays away
  bool forgets = false;                    // it was rebooted meanwhile and does not know the run
  bool twice = false;                      // it sends every message twice
  std::map<Point, std::string> says = {};  // additional bytes that it sends at that point
  std::set<Point> leaves_out = {};         // messages that it never sends
  std::string output = "hello\n";          // of each rank
  double ranks_live_s = 5;
  int status = 0;     // wait status of each rank
  bool deaf = false;  // its ranks ignore orders to end
  double clock_ahead_s = 0;
  std::string program_missing = {};  // why the binary cannot be started there
  std::string shell_says = {};       // on standard error, if the line that starts the agent ends
  int shell_code = 0;                // exit code of the line that starts the agent; 0: it starts
  bool ignores_inspections = false;
  bool computes = false;  // its ranks use CPUs
  bool computes_in_whole_looks = false;
  bool not_watched = false;  // the second look at its ranks comes too late
  bool timed_out = false;    // its ranks end because of a time-out
  bool cut_off = false;      // its ranks end because they lost a connection to another rank
  // Its answer to an order of the connection test; empty: none.
  std::function<std::optional<agent::Report>(const agent::Order&)> answer = {};
};

class FakeHosts;

// One host. All its messages come from the loop.
class FakeHost {
 public:
  FakeHost(FakeHosts& all, std::string name) : all_(all), name_(std::move(name)) {}

  Behaviour behaviour = {};
  std::vector<int> ranks = {};

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool running() const { return running_ && !ranks_ended_; }
  [[nodiscard]] bool gone() const { return gone_; }
  [[nodiscard]] int sessions() const { return sessions_; }  // opened so far
  [[nodiscard]] bool said_bye() const { return said_bye_; }
  [[nodiscard]] const std::string& orders() const { return orders_; }  // kinds, in order

  void start_ranks();
  void end_ranks(int status, bool by_engine);
  // Vanishes now, for this many seconds (0: for ever).
  void vanish(Gone how, double seconds);
  void send(const std::string& bytes);
  void send(const agent::Report& report) { send(to_line(report)); }

 private:
  friend class FakeHosts;
  class FakeSession;

  std::shared_ptr<FakeSession> open(remote::SessionPlan plan);
  void receive(FakeSession& session, const std::string& bytes);
  void obey(FakeSession& session, const std::string& kind);
  void be_inspected(const agent::Inspection& what);
  void hello(bool with_request);
  void begin();
  void beat(int number);
  void end(double grace_s);
  void finish_end();
  // Returns false if the host vanishes at this point.
  bool reach(Point point);
  void say(Point point, const agent::Report& report);
  void live_no_longer();
  void come_back();

  FakeHosts& all_;
  std::string name_;
  std::weak_ptr<FakeSession> session_;
  std::vector<std::weak_ptr<FakeSession>> open_;
  std::vector<std::string> events_;  // repeated on a new connection
  std::string orders_;
  int sessions_ = 0;
  int beats_ = 0;
  bool gone_ = false;
  Gone how_ = Gone::kSilent;
  bool warden_ = false;
  bool running_ = false;
  bool over_ = false;  // the ranks have lived as long as they should
  bool ranks_ended_ = false;
  bool ending_ = false;
  bool said_bye_ = false;
};

class FakeHosts : public remote::Transport {
 public:
  // Hosts n1, n2, ... with this many ranks each.
  FakeHosts(FakeLoop& loop, int count, int ranks_each = 1);

  [[nodiscard]] FakeLoop& loop() { return loop_; }
  [[nodiscard]] FakeHost& operator[](std::size_t i) { return *hosts_[i]; }
  [[nodiscard]] std::size_t size() const { return hosts_.size(); }
  [[nodiscard]] std::vector<std::string> names() const;
  // Called with the status of each rank that ended by itself.
  std::function<void(FakeHost& host, int status)> on_ranks_end = nullptr;
  double beat_every_s = agent::kBeatEverySeconds;
  int pushed = 0;                                        // number of binaries pushed
  std::map<std::string, std::string> pushed_bytes = {};  // by host

  [[nodiscard]] std::vector<remote::Outcome> run(std::span<const remote::Task> tasks,
                                                 std::chrono::milliseconds deadline) override;
  void forget(const std::string& /*host*/) override {}
  [[nodiscard]] std::vector<std::string> shell() const override { return {}; }
  [[nodiscard]] remote::Silence silence(const std::string& host) const override;
  [[nodiscard]] std::shared_ptr<remote::Session> open(sys::Loop& loop,
                                                      remote::SessionPlan plan) override;

  [[nodiscard]] std::string facts_line(const std::string& host);

 private:
  FakeLoop& loop_;
  std::vector<std::unique_ptr<FakeHost>> hosts_;
  std::map<std::string, std::size_t> by_name_;
  std::string facts_;  // facts of a host, without its name
};

}  // namespace muster::run
