// ssh asks muster itself: during a first login SSH_ASKPASS names this binary, which passes ssh's
// prompt over a unix socket to the setup process and prints the reply. So no password is ever in
// an argument list, an environment or a file.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "setup/doorkeeper.hpp"
#include "sys/file.hpp"

namespace muster::setup {

// When the environment says that ssh started this process to ask: asks, and returns the exit code.
// To be called first in main; nothing when this is an ordinary start.
[[nodiscard]] std::optional<int> askpass_main(int argc, char** argv);

// The setup process's side. One thread takes questions; replies come from the doorkeeper, which
// is used under a mutex.
class AskpassServer {
 public:
  // `folder` must be ours alone (mode 0700). `doorkeeper` must outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<AskpassServer>> open(const std::string& folder,
                                                                   Doorkeeper& doorkeeper);
  AskpassServer(const AskpassServer&) = delete;
  AskpassServer& operator=(const AskpassServer&) = delete;
  ~AskpassServer();

  // What ssh's environment needs so that it asks here about `host`.
  [[nodiscard]] std::vector<std::string> environment(const std::string& host) const;

  void begin(std::span<const std::string> hosts);
  void ended(const std::string& host);

  [[nodiscard]] std::optional<Trouble> trouble(const std::string& host);
  [[nodiscard]] std::vector<KeyOffer> offers();
  [[nodiscard]] bool person_was_asked();  // since begin()

 private:
  AskpassServer(std::string path, Doorkeeper& doorkeeper)
      : path_(std::move(path)), doorkeeper_(doorkeeper) {}
  [[nodiscard]] Result<void> listen();
  void serve();
  void take(sys::Fd client);
  void send(std::vector<Reply> replies);

  std::string path_;
  std::string program_;
  Doorkeeper& doorkeeper_;
  sys::Fd listener_;
  sys::Fd stop_;
  std::mutex mutex_;  // guards doorkeeper_, clients_ and next_id_
  std::unordered_map<int, sys::Fd> clients_;
  int next_id_ = 1;
  std::jthread thread_;
};

}  // namespace muster::setup
