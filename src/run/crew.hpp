// The agents of a run: one per host, each over its own session.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/protocol.hpp"
#include "facts/facts.hpp"
#include "remote/transport.hpp"
#include "run/builds.hpp"
#include "sys/live_line.hpp"
#include "sys/loop.hpp"

namespace muster::run {

struct CrewOptions {
  std::string run_id = {};                // empty: facts only
  std::vector<std::string> earlier = {};  // ids of this run's earlier attempts
  facts::Request request = {};            // its `host` is filled in per host
  std::chrono::milliseconds deadline;     // for a host's first answer
  std::chrono::milliseconds for_facts;    // for its facts, after the first answer
  std::size_t fan_out = 64;               // the most hosts to survey at the same time
  bool compare_clocks = false;            // to the millisecond, at the cost of one more round trip
  sys::OnProgress on_progress = nullptr;  // called by survey()
  Builds builds = {};                     // to push to hosts; if empty, those of find_builds()
};

class Crew {
 public:
  using OnReport = std::function<void(std::size_t member, const agent::Report&)>;
  using OnLost = std::function<void(std::size_t member, const std::string& why)>;

  Crew(sys::Loop& loop, remote::Transport& transport, std::vector<std::string> hosts,
       CrewOptions options);
  ~Crew();

  // Opens the sessions, gathers the facts of all hosts in parallel and returns one Survey per host.
  // Hosts without the binary first get the build for their architecture. Up to `fan_out` hosts that
  // do not answer delay it by one deadline in all. Calls `meanwhile` after it has begun to open the
  // first sessions. Call it once: the crew does not keep the surveys. Cost: one session per host;
  // two more where the binary is missing.
  [[nodiscard]] std::vector<facts::Survey> survey(const std::function<void()>& meanwhile = {});

  // The binary's path on the hosts. Valid after survey().
  [[nodiscard]] std::string binary() const;
  [[nodiscard]] const std::string& base() const;

  // From now on, reports and lost sessions go to these callbacks. Call it after survey().
  void listen(OnReport on_report, OnLost on_lost);
  void send(std::size_t member, const agent::Order& order);
  void send_all(const agent::Order& order);
  // Opens another session to the member over a new connection, and sends `begin` again. The old
  // session stays until the new one answers. `taken` is the output that we already have.
  void rejoin(std::size_t member, double orphan_after_s, std::vector<agent::Taken> taken);
  // Abandons new sessions that have not answered yet, because ssh may wait long for a dead host.
  void stop_rejoining();
  [[nodiscard]] bool connected(std::size_t member) const;
  // When the member last sent anything.
  [[nodiscard]] std::chrono::steady_clock::time_point heard(std::size_t member) const;

  // Treats all members as if they had just been heard: when a run begins, and after this process
  // itself was suspended.
  void hear_all();
  // The number of the member's current session. A changed number means a new connection.
  [[nodiscard]] int session_number(std::size_t member) const;

  // The descriptors of all sessions, for the keeper.
  [[nodiscard]] std::vector<int> descriptors() const;

 private:
  struct Member;
  enum class State { kWaiting, kAsked, kSurveyed, kFailed, kMissing, kRefused };

  void survey_at(const std::string& base, std::vector<std::size_t> members);
  void open_next();
  void open(std::size_t index);
  void take(std::size_t index, std::string_view chunk);
  void take_message(std::size_t index, const agent::Message& message);
  void settle(Member& member, State state);
  void tell_progress(std::string_view what, std::size_t done, std::size_t of_all) const;
  std::shared_ptr<remote::Session> start_session(std::size_t index, bool fresh);
  void adopt(std::size_t index, int generation);
  void end_of_session(std::size_t index, remote::SessionEnd end);
  State end_of_survey(Member& member, const remote::SessionEnd& end) const;
  void give_up(std::size_t index);
  void push(const std::vector<std::size_t>& members);
  [[nodiscard]] std::vector<std::size_t> choose_builds(const std::vector<std::size_t>& members);

  sys::Loop& loop_;
  remote::Transport& transport_;
  CrewOptions options_;
  std::string folder_;  // of the binary, in base_
  std::string base_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::size_t> waiting_;  // members to open sessions for, in reverse order
  std::size_t pending_ = 0;           // members whose survey is not over
  std::size_t asked_ = 0;             // members asked in this round of the survey
  std::function<void()> meanwhile_;
  OnReport on_report_;
  OnLost on_lost_;
};

}  // namespace muster::run
