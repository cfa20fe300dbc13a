#include "scene.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "run/output.hpp"

namespace muster::run {
namespace {

constexpr double kEngineTakes = 0.1;  // seconds: to start the ranks, and to exit
constexpr const char* kEngine = "engine";

}  // namespace

Scene::Scene(int host_count, int ranks_each)
    : hosts(loop, host_count, ranks_each),
      crew{.run_id = "r1",
           .request = {},
           .deadline = std::chrono::seconds(15),
           .for_facts = std::chrono::seconds(15)} {
  char pattern[] = "/tmp/muster-scene-XXXXXX";
  folder_ = ::mkdtemp(pattern);
  loop.on_start = [this](const auto& process) { return start(process); };
  hosts.on_ranks_end = [this](FakeHost& host, int status) { ranks_ended(host, status); };
}

Scene::~Scene() {
  std::filesystem::remove_all(folder_);
}

void Scene::let_ranks_live(double seconds) {
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].behaviour.ranks_live_s = seconds;
}

void Scene::later(double seconds, std::function<void()> call) {
  later_.emplace_back(seconds, std::move(call));
}

void Scene::ask(double seconds, std::function<void(Supervisor&)> call) {
  later(seconds, [this, call = std::move(call)] { call(*supervisor_); });
}

bool Scene::start(const std::shared_ptr<FakeProcess>& process) {
  if (process->program().argv.at(0) != kEngine) {
    keepers_.push_back(process);
    return true;
  }
  if (engine.cannot_start) return false;
  start_engine(process);
  return true;
}

void Scene::start_engine(const std::shared_ptr<FakeProcess>& process) {
  const std::string host = process->program().argv.at(1);
  engines_[host] = process;
  FakeProcess* const raw = process.get();
  process->on_kill = [this, raw](int signal) { kill_engine(*raw, signal); };
  if (engine.dies_after_s > 0) {
    loop.after(engine.dies_after_s, [this] { end_engines(0, SIGSEGV); });
  }
  if (engine.starts_nothing) return;
  auto start_ranks = [this, host] {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (host.empty() || hosts[i].name() == host) hosts[i].start_ranks();
    }
  };
  if (engine.reaches_hosts) return engine.reaches_hosts(std::move(start_ranks));
  loop.after(kEngineTakes, std::move(start_ranks));
}

void Scene::ranks_ended(FakeHost& host, int status) {
  if (engine.stays) return;
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (engine.one_per_host) {
    const auto process = engines_[host.name()];
    if (process) loop.after(kEngineTakes, [process, code] { process->end(code, 0); });
    return;
  }
  ++hosts_ended_;
  if (status != 0 && engine.ends_the_others && !std::exchange(failing_, true)) {
    loop.after(kEngineTakes, [this, code] {
      for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (!hosts[i].gone()) hosts[i].end_ranks(SIGTERM, true);
      }
      end_engines(code, 0);
    });
  }
  if (hosts_ended_ == hosts.size() && !failing_) {
    loop.after(kEngineTakes, [this] { end_engines(0, 0); });
  }
}

void Scene::end_engines(int code, int signal) {
  for (const auto& [host, process] : engines_) process->end(code, signal);
}

void Scene::end_engine(const std::string& host, int code) {
  engines_.at(host)->end(code, 0);
}

void Scene::kill_engine(FakeProcess& process, int signal) {
  if (engine.cannot_be_killed || (signal == SIGTERM && engine.ignores_sigterm)) return;
  loop.after(0, [&process, signal] { process.end(0, signal); });
}

launch::Plan Scene::plan() const {
  launch::Plan plan;
  if (!engine.one_per_host) plan.commands.push_back({.argv = {kEngine, ""}});
  for (const std::string& name : hosts.names()) {
    if (engine.one_per_host) plan.commands.push_back({.argv = {kEngine, name}, .host = name});
  }
  return plan;
}

Record Scene::new_record() {
  Record record{.id = "r1", .started_s = loop.unix_time()};
  record.engine_restarts = patience.engine_restarts;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    for (const int rank : hosts[i].ranks) {
      record.ranks.push_back({.rank = rank, .host = hosts[i].name()});
    }
  }
  return record;
}

void Scene::supervise(Crew& all, SceneEnd& ending) {
  ending.record = new_record();
  record_ = &ending.record;
  const auto output = Output::open(folder_, static_cast<int>(ending.record.ranks.size()),
                                   {.watch = [&](sys::Stream, const Line& line) {
                                     ending.output += fmt::format("{}: {}", line.rank, line.text);
                                   }});
  ASSERT_TRUE(output);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    all.send(i, {.kind = agent::Order::Kind::kPlace, .placement = {}, .variables = {}});
  }
  Supervisor supervisor(loop, all, hosts.names(), patience, ending.record, **output);
  supervisor_ = &supervisor;
  supervisor.run(plan(), [&] {
    ending.started = true;
    for (auto& [seconds, call] : later_) loop.after(seconds, std::move(call));
  });
  (*output)->finish();
  ending.record.ended_s = loop.unix_time();
  supervisor.dismiss();
  ending.verdict = judge(ending.record);
  engines_.clear();
  record_ = nullptr;
}

SceneEnd Scene::play() {
  SceneEnd ending;
  testing::internal::CaptureStderr();
  auto all = std::make_unique<Crew>(loop, hosts, hosts.names(), crew);
  ending.surveys = all->survey();
  ending.survey_s = loop.elapsed();
  const bool well = std::all_of(ending.surveys.begin(), ending.surveys.end(),
                                [](const facts::Survey& one) { return one.facts.has_value(); });
  if (well && decide) decide(*all, ending.surveys);
  if (well) supervise(*all, ending);
  ending.took_s = loop.elapsed();
  ending.waited_for_ever = loop.waited_for_ever();
  all = nullptr;
  loop.drain(std::chrono::seconds(10));  // late events must not do any harm
  ending.said = testing::internal::GetCapturedStderr();
  ending.keepers = static_cast<int>(keepers_.size());
  if (!keepers_.empty()) ending.keeper_input = keepers_.back()->input();
  return ending;
}

}  // namespace muster::run
