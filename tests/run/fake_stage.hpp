// A fake outside world for the attempts of a run: hosts that are down for a while, and attempts
// that end as the test says. Nothing waits: the clock jumps.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run/stage.hpp"

namespace muster::run {

class FakeStage : public Stage {
 public:
  // How an attempt on these hosts ends.
  using Play = std::function<void(const std::vector<std::string>& hosts, Record& record)>;

  std::vector<std::string> hosts = {"n1", "n2", "n3"};  // those that the user named
  std::vector<Play> plays = {};                         // one per attempt; the last is repeated
  std::map<std::string, double> down_until = {};        // hosts that do not answer before this time
  double file_server_down_until = 0;  // until this time, each look finds errors, but no bad host
  double attempt_takes_s = 10;
  double look_takes_s = 1;  // 15 s more if a host does not answer
  double signal_at = -1;    // `signal` interrupts the first pause that lasts until this time
  int signal = 0;
  int signal_at_look = 0;  // this look, counted from 1, raises `signal`
  int max_restarts = 0;
  int min_nodes = 0;
  bool ours_to_restart = true;
  int refusal_code = 0;  // not 0: the first check of the hosts finds an error
  bool dry_run = false;
  std::vector<std::string> ending = {};

  double now_s = 0;
  std::vector<std::vector<std::string>> attempts = {};  // the hosts of each attempt
  std::vector<Turn> turns = {};
  std::vector<Patience> patience = {};
  std::vector<double> pauses = {};
  std::vector<double> began_s = {};
  int looks = 0;
  int forgotten = 0;
  bool is_open = false;  // whether sessions are open

  Result<Look> look(const Turn& turn, const std::vector<muster::hosts::Host>* members) override;
  void close(std::span<const BadHost> bad) override;
  Result<std::optional<int>> prepare(const Turn& turn, bool is_first) override;
  Result<AttemptEnd> supervise(const Turn& turn, const Patience& patience,
                               const Decide& decide) override;
  std::optional<int> pause(double seconds) override;
  [[nodiscard]] std::chrono::steady_clock::time_point now() const override;

 private:
  std::vector<std::string> current_;
};

// Ready-made plays.
void all_well(const std::vector<std::string>& hosts, Record& record);
[[nodiscard]] FakeStage::Play rank_fails(int rank, int status);
[[nodiscard]] FakeStage::Play loses(std::vector<std::string> lost);
[[nodiscard]] FakeStage::Play ends_with(Reason reason, int signal);

}  // namespace muster::run
