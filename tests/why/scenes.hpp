// Builds the scenes of the tests: ranks that share hosts, what they do, and what was recorded.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "why/verdict.hpp"

namespace muster::why {

class SceneBuilder {
 public:
  // Idle ranks with a recorder and a default group in which nothing has happened yet.
  explicit SceneBuilder(int ranks, int per_host = 1) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string host = "n" + std::to_string(rank / per_host + 1);
      scene_.ranks.push_back({.rank = rank, .host = host});
      inspect::HostView& view = scene_.hosts[host];
      view.window_s = 1;
      view.processors = 8;
      view.addresses = {"127.0.0.1", "10.0.0." + std::to_string(rank / per_host + 1)};
      const pid_t pid = 1000 + rank;
      view.ranks.push_back({.rank = rank,
                            .pid = pid,
                            .processes = {{.pid = pid, .command = "python train.py", .state = "S"}},
                            .watched = true,
                            .recorded = true});
    }
    scene_.silent_s = scene_.started_ago_s = 600;
  }

  // Takes time in proportion to the number of ranks.
  inspect::RankView& rank(int number) {
    for (auto& [name, host] : scene_.hosts) {
      for (inspect::RankView& view : host.ranks) {
        if (view.rank == number) return view;
      }
    }
    return nobody_;
  }
  inspect::Process& process(int number) { return rank(number).processes.front(); }
  RankState& state(int number) { return scene_.ranks[static_cast<std::size_t>(number)]; }
  Scene& scene() { return scene_; }

  inspect::Group& group(int number, const std::string& name = "0", std::vector<int> ranks = {}) {
    for (inspect::Group& group : rank(number).groups) {
      if (group.name == name) return group;
    }
    rank(number).groups.push_back(
        {.name = name, .description = name == "0" ? "default_pg" : "", .ranks = std::move(ranks)});
    return rank(number).groups.back();
  }

  // The rank has completed this operation.
  SceneBuilder& did(int number, const std::string& operation, int sequence,
                    const std::string& name = "0", std::vector<int> ranks = {}) {
    inspect::Group& of = group(number, name, std::move(ranks));
    of.operations.push_back({.name = operation,
                             .number = sequence,
                             .sizes = "[[1000]]",
                             .types = "float32",
                             .age_s = 100,
                             .done = true});
    of.begun = of.done = of.begun_before = of.done_before = sequence;
    return *this;
  }
  // The rank is in this operation and has completed all before it.
  SceneBuilder& in(int number, const std::string& operation, int sequence, double age,
                   const std::string& name = "0", std::vector<int> ranks = {}) {
    inspect::Group& of = group(number, name, std::move(ranks));
    of.operations.push_back({.name = operation,
                             .number = sequence,
                             .sizes = "[[1000]]",
                             .types = "float32",
                             .age_s = age});
    of.begun = of.begun_before = sequence;
    of.done = of.done_before = sequence - 1;
    return *this;
  }
  // The same for all ranks except `but`.
  SceneBuilder& others_in(int but, const std::string& operation, int sequence, double age) {
    for (const RankState& state : scene_.ranks) {
      if (state.rank != but) in(state.rank, operation, sequence, age);
    }
    return *this;
  }

  SceneBuilder& doing(int number, const std::string& state, const std::string& call,
                      double cpu = 0) {
    process(number).state = state;
    process(number).call = call;
    process(number).cpu = cpu;
    return *this;
  }
  // Frames, innermost first: "train.py:57 load", "/x/torch/distributed/distributed_c10d.py:9
  // all_reduce".
  SceneBuilder& python(int number, const std::vector<std::string>& frames) {
    inspect::Stack stack{.source = "py-spy", .python = true};
    for (const std::string& text : frames) {
      const std::size_t colon = text.find(':');
      const std::size_t blank = text.find(' ');
      stack.frames.push_back({.function = text.substr(blank + 1),
                              .file = text.substr(0, colon),
                              .line = std::stoi(text.substr(colon + 1))});
    }
    rank(number).stacks.push_back(std::move(stack));
    return *this;
  }
  SceneBuilder& native(int number, const std::vector<std::string>& functions) {
    inspect::Stack stack{.source = "eu-stack"};
    for (const std::string& function : functions) stack.frames.push_back({.function = function});
    rank(number).stacks.push_back(std::move(stack));
    return *this;
  }
  SceneBuilder& without_recorder() {
    for (auto& [name, host] : scene_.hosts) {
      for (inspect::RankView& view : host.ranks) view.recorded = false;
    }
    return *this;
  }
  SceneBuilder& connect(int number, inspect::Connection connection) {
    rank(number).connections.push_back(std::move(connection));
    return *this;
  }
  operator const Scene&() const { return scene_; }  // NOLINT(google-explicit-constructor)

 private:
  Scene scene_;
  inspect::RankView nobody_;
};

inline const std::string kC10d =
    "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:2900 ";

}  // namespace muster::why
