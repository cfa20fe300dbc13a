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
  kSilent,  // as if its cable were unplugged: connections stay open, but carry nothing
  kCut,     // its connections end, and new ones are rejected
};

struct Behaviour {
  double answers_after_s = 0.01;
  Point gone_at = Point::kNever;
  Gone gone = Gone::kSilent;
  double back_after_s = 0;  // 0: it does not come back
  bool forgets = false;     // when it is back, it does not know the run, as after a reboot
  bool twice = false;       // it sends every message twice
  std::map<Point, std::string> says = {};  // additional bytes that it sends at each point
  std::set<Point> leaves_out = {};         // messages that it never sends
  std::string output = "hello\n";          // of each rank
  double ranks_live_s = 5;
  int status = 0;     // wait status of each rank
  bool deaf = false;  // its ranks ignore orders to end
  double clock_ahead_s = 0;
  std::string program_missing = {};  // the error of a pushed binary; empty: it works
  std::string shell_says = {};       // to standard error, if shell_code is not 0
  int shell_code = 0;  // exit code of the command that starts the agent; 0: the agent runs
  bool ignores_inspections = false;
  bool computes = false;                 // its ranks use CPUs
  bool computes_in_whole_looks = false;  // they do so only during inspections with stacks
  bool not_watched = false;              // the second look at its ranks comes too late
  bool timed_out = false;                // its ranks end because of a time-out
  bool cut_off = false;     // its ranks end because they lost a connection to another rank
  double facts_take_s = 0;  // for the host to gather its facts
  // Answers the connection test's orders, "listen" and "connect". The host stays silent if this is
  // not set or returns nothing.
  std::function<std::optional<agent::Report>(const agent::Order&)> answer = {};
};

class FakeHosts;

// One host. It sends its messages from the loop, never inside a call from muster.
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
  // The kinds of all orders received so far, except beats.
  [[nodiscard]] const std::string& orders() const { return orders_; }

  void start_ranks();
  void end_ranks(int status, bool by_engine);
  // Makes the host vanish now, for this many seconds (0: for ever).
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
  void tell_facts();
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
  std::vector<std::string> events_;  // its ranks' starts and ends, repeated on each new connection
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
  // Called when the ranks of a host have ended by themselves. `status` is the wait status of each.
  std::function<void(FakeHost& host, int status)> on_ranks_end = nullptr;
  // If set, it is called for every new session with a host that is there, and calls `then` when the
  // session can carry messages. `fresh` means that it needs a new connection.
  std::function<void(bool fresh, std::function<void()> then)> on_open = nullptr;
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

  // Sets the facts that all hosts report, except for their names and their addresses, which replace
  // kAddressGoesHere.
  static constexpr const char* kAddressGoesHere = "ADDRESS-GOES-HERE";
  void tell(facts::Facts facts);
  [[nodiscard]] std::string facts_line(const std::string& host);

 private:
  FakeLoop& loop_;
  std::vector<std::unique_ptr<FakeHost>> hosts_;
  std::map<std::string, std::size_t> by_name_;
  std::string facts_;  // line with a host's facts and a placeholder for its name
};

}  // namespace muster::run
