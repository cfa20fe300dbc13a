// A whole run of the core, from the survey to the verdict, on fake hosts and a fake clock.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fake_hosts.hpp"
#include "fake_loop.hpp"
#include "run/crew.hpp"
#include "run/supervisor.hpp"

namespace muster::run {

// How the engine behaves. It has one process, or one per host.
struct EngineBehaviour {
  bool one_per_host = false;  // like torchrun: each process ends when its host's ranks have ended
  bool cannot_start = false;
  bool ends_the_others = true;  // ends the other ranks when one has failed, as mpirun does
  bool stays = false;           // keeps running after all ranks have ended
  bool ignores_sigterm = false;
  bool cannot_be_killed = false;  // as if it waited for a dead file system
  bool starts_nothing = false;
  double dies_after_s = 0;  // dies of SIGSEGV this long after its start; 0: never
  // If set, calls `then` when the engine has reached all hosts and starts the ranks.
  std::function<void(std::function<void()> then)> reaches_hosts = nullptr;
};

struct SceneEnd {
  bool started = false;  // all hosts were surveyed, and the engine was started
  std::vector<facts::Survey> surveys = {};
  Record record = {};
  Verdict verdict = {};
  std::string said = {};    // muster's standard error
  std::string output = {};  // the ranks' output
  double survey_s = 0;      // duration of the survey, on the fake clock
  double took_s = 0;
  bool waited_for_ever = false;
  int keepers = 0;                // number of keepers that were started
  std::string keeper_input = {};  // what muster wrote to the last keeper
};

class Scene {
 public:
  explicit Scene(int host_count, int ranks_each = 1);
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  ~Scene();

  FakeLoop loop;
  FakeHosts hosts;
  Patience patience = {};
  EngineBehaviour engine = {};
  CrewOptions crew;
  // If set, it is called between the survey and the start of the engine.
  std::function<void(Crew& crew, const std::vector<facts::Survey>& surveys)> decide = nullptr;

  // All ranks live this long, unless they are ended earlier.
  void let_ranks_live(double seconds);
  // Calls `call` this many seconds after the engine was started.
  void later(double seconds, std::function<void()> call);
  // Like `later`, but passes the Supervisor to `call`.
  void ask(double seconds, std::function<void(Supervisor&)> call);
  // What is known of the run so far; null before the engine is started.
  [[nodiscard]] const Record* record() const { return record_; }
  // Ends the engine process of this host, or the only engine process if `host` is "".
  void end_engine(const std::string& host, int code);
  [[nodiscard]] SceneEnd play();

 private:
  bool start(const std::shared_ptr<FakeProcess>& process);
  void start_engine(const std::shared_ptr<FakeProcess>& process);
  void ranks_ended(FakeHost& host, int status);
  void end_engines(int code, int signal);
  void kill_engine(FakeProcess& process, int signal);
  void supervise(Crew& all, SceneEnd& ending);
  [[nodiscard]] launch::Plan plan() const;
  [[nodiscard]] Record new_record();

  std::string folder_;
  std::vector<std::pair<double, std::function<void()>>> later_;
  Supervisor* supervisor_ = nullptr;  // set while it runs
  const Record* record_ = nullptr;
  // The engine's processes by host. If it has only one, for all hosts, the key is "".
  std::map<std::string, std::shared_ptr<FakeProcess>> engines_;
  std::vector<std::shared_ptr<FakeProcess>> keepers_;
  std::size_t hosts_ended_ = 0;
  bool failing_ = false;
};

[[nodiscard]] inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace muster::run
