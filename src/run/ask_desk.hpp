// Answers `muster why` in the process that supervises a run. The user may call `muster why` from
// any terminal of this machine. It connects to a socket in the run's folder, and only the folder's
// owner can open that socket.
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
  double slow_s = 0;  // watch a slow job for this long; 0: the job may hang
};

struct WhyAnswer {
  std::string folder = {};  // with the results of the inspection
  std::string error = {};   // why there is no answer; empty on success
};

class AskDesk {
 public:
  using Answer = std::function<void(const WhyAnswer& answer)>;
  using OnQuestion = std::function<void(const WhyQuestion& question, Answer answer)>;

  // Fails if the folder cannot hold a socket; then `muster why` cannot ask about this run.
  [[nodiscard]] static Result<std::unique_ptr<AskDesk>> open(sys::Loop& loop,
                                                             const std::string& folder,
                                                             OnQuestion on_question);
  AskDesk(const AskDesk&) = delete;
  AskDesk& operator=(const AskDesk&) = delete;
  ~AskDesk();

 private:
  struct Caller {
    agent::Channel channel;
    // A duplicate, because the channel may close its own descriptor while this one is still
    // watched.
    sys::Fd watched = {};
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
  std::shared_ptr<sys::Timer> pause_;  // listens again after no more files could be opened
};

// Asks the process that supervises the run with this folder, and waits for the answer.
[[nodiscard]] Result<WhyAnswer> ask_why(const std::string& folder, const WhyQuestion& question);

}  // namespace muster::run
