#include "fake_stage.hpp"

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

namespace muster::run {
namespace {

void end_all(Record& record, int status) {
  for (RankRecord& rank : record.ranks) {
    rank.start = agent::RankStart{.rank = rank.rank};
    rank.end = agent::RankEnd{.rank = rank.rank, .status = status, .time_s = record.started_s + 2};
  }
}

}  // namespace

Result<Look> FakeStage::look(const Turn& turn, const std::vector<muster::hosts::Host>* members) {
  EXPECT_FALSE(is_open) << "two sessions with one host";
  is_open = true;
  if (++looks == signal_at_look) (void)std::raise(signal);
  now_s += look_takes_s;
  current_.clear();
  Look look{
      .ours_to_restart = ours_to_restart, .min_nodes = min_nodes, .max_restarts = max_restarts};
  if (members == nullptr) {
    current_ = hosts;
  } else {
    for (const muster::hosts::Host& one : *members) current_.push_back(one.name);
  }
  for (const std::string& name : current_) {
    look.members.push_back({.name = name, .slots = 1});
    const auto down = down_until.find(name);
    if (down != down_until.end() && now_s < down->second) {
      look.bad.push_back({.host = name, .why = "no answer within 15 s"});
    }
  }
  if (!look.bad.empty()) now_s += 15;
  const bool refused = refusal_code != 0 && turn.number == 0;
  look.has_errors = !look.bad.empty() || refused || now_s < file_server_down_until;
  if (look.has_errors) look.first_error = look.findings = "the folder is not there";
  if (refused) look.refusal_code = refusal_code;
  return look;
}

void FakeStage::close(std::span<const BadHost> bad) {
  if (is_open) forgotten += static_cast<int>(bad.size());
  is_open = false;
}

Result<std::optional<int>> FakeStage::prepare(const Turn& /*turn*/, bool /*is_first*/) {
  return dry_run ? std::optional<int>(0) : std::nullopt;
}

Result<AttemptEnd> FakeStage::supervise(const Turn& turn, const Patience& given,
                                        const Decide& decide) {
  const Play& play = plays.at(std::min(attempts.size(), plays.size() - 1));
  attempts.push_back(current_);
  turns.push_back(turn);
  patience.push_back(given);
  began_s.push_back(now_s);
  Record record{.id = turn.id(), .started_s = now_s};
  for (const std::string& host : current_) {
    record.ranks.push_back({.rank = static_cast<int>(record.ranks.size()), .host = host});
  }
  play(current_, record);
  now_s += attempt_takes_s;
  record.ended_s = now_s;
  AttemptEnd end{.verdict = judge(record), .decision = {}};
  end.decision = decide(record, end.verdict);
  if (!end.decision.again) end.ending = ending;
  return end;
}

std::optional<int> FakeStage::pause(double seconds) {
  pauses.push_back(seconds);
  const bool comes = signal != 0 && signal_at <= now_s + seconds;
  now_s = comes ? std::max(now_s, signal_at) : now_s + seconds;
  return comes ? std::optional<int>(signal) : std::nullopt;
}

std::chrono::steady_clock::time_point FakeStage::now() const {
  using Clock = std::chrono::steady_clock;
  return Clock::time_point(
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1000 + now_s)));
}

void all_well(const std::vector<std::string>& /*hosts*/, Record& record) {
  end_all(record, 0);
}

FakeStage::Play rank_fails(int rank, int status) {
  return [rank, status](const auto&, Record& record) {
    end_all(record, SIGTERM);
    for (RankRecord& one : record.ranks) {
      one.end->by_engine = one.rank != rank;
      if (one.rank == rank) one.end->status = status;
    }
  };
}

FakeStage::Play loses(std::vector<std::string> lost) {
  return [lost = std::move(lost)](const auto&, Record& record) {
    record.reason = Reason::kHostLost;
    record.lost_hosts = lost;
  };
}

FakeStage::Play ends_with(Reason reason, int signal) {
  return [reason, signal](const auto&, Record& record) {
    record.reason = reason;
    record.signal = signal;
    record.timeout_s = 100;
  };
}

}  // namespace muster::run
