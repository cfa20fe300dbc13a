// Makes ssh ask muster its questions (for passwords, for example). During a first login,
// SSH_ASKPASS names this binary. It passes ssh's prompt over a Unix socket to the setup process and
// prints the reply. So no password ever appears in an argument list, an environment variable or a
// file.
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

// If the environment says that ssh started this process to ask a question, asks it and returns the
// exit code. Otherwise returns nothing. Must be called first in main.
[[nodiscard]] std::optional<int> askpass_main(int argc, char** argv);

// The server in the setup process. One thread receives questions; the Doorkeeper decides the
// replies and is used under a mutex.
class AskpassServer {
 public:
  // `folder` must be private (mode 0700). `doorkeeper` must outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<AskpassServer>> open(const std::string& folder,
                                                                   Doorkeeper& doorkeeper);
  AskpassServer(const AskpassServer&) = delete;
  AskpassServer& operator=(const AskpassServer&) = delete;
  ~AskpassServer();

  // The environment variables that make ssh ask this server its questions about `host`.
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
