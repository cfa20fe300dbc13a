// Where the process that looks after a run answers `muster why`, which may be started from any
// terminal of this machine: a socket in the run's folder, which only its owner can open.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "agent/channel.hpp"
#include "base/error.hpp"
#include "sys/loop.hpp"

namespace muster::run {

struct WhyQuestion {
  double slow_s = 0;  // watch a job that advances for so long; 0: the job may hang
};

struct WhyAnswer {
  std::string folder = {};  // with what was found
  std::string error = {};   // why there is nothing; empty: all went well
};

class AskDesk {
 public:
  using Answer = std::function<void(const WhyAnswer& answer)>;
  using OnQuestion = std::function<void(const WhyQuestion& question, Answer answer)>;

  // An Error where the folder cannot hold a socket; then nobody can ask.
  [[nodiscard]] static Result<std::unique_ptr<AskDesk>> open(sys::Loop& loop,
                                                             const std::string& folder,
                                                             OnQuestion on_question);
  AskDesk(const AskDesk&) = delete;
  AskDesk& operator=(const AskDesk&) = delete;
  ~AskDesk();

 private:
  struct Caller {
    agent::Channel channel;
    sys::Fd watched = {};  // a copy: the channel may close its own while that is still watched
    std::shared_ptr<sys::Watch> watch = {};
    bool asked = false;
  };

  AskDesk(sys::Loop& loop, std::string path, sys::Fd listener, OnQuestion on_question);
  void listen();
  void admit();
  void listen_to(const std::shared_ptr<Caller>& caller);

  sys::Loop& loop_;
  std::string path_;
  sys::Fd listener_;
  OnQuestion on_question_;
  std::list<std::shared_ptr<Caller>> callers_;
  std::shared_ptr<sys::Watch> watch_;
  std::shared_ptr<sys::Timer> pause_;  // while no more files can be opened
};

// Asks the process that looks after the run with this folder, and waits for the answer.
[[nodiscard]] Result<WhyAnswer> ask_why(const std::string& folder, const WhyQuestion& question);

}  // namespace muster::run
