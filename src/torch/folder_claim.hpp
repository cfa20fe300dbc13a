// Lets only one job at a time save into a checkpoint directory. See
// docs/decisions/0017-claims-on-checkpoints.md.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <sys/types.h>

#include "torch/durable_file.hpp"

namespace muster {

// The file in the directory that names the job which saves there.
constexpr const char* kClaimFile = "in-use.json";

class FolderClaim {
 public:
  // `mark` must be new. Throws std::runtime_error that names the job which uses the directory. If
  // that job may be on a lost host, waits up to `lost_after` for a sign of life from it, and calls
  // `tell` with a message if the wait lasts some seconds.
  FolderClaim(const std::string& folder, const std::string& mark,
              std::chrono::milliseconds lost_after,
              const std::function<void(const std::string&)>& tell);
  ~FolderClaim();
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;

  // Throws std::runtime_error if another job has meanwhile taken over the directory.
  void check() const;

 private:
  void await_turn(std::chrono::milliseconds lost_after,
                  const std::function<void(const std::string&)>& tell);
  [[nodiscard]] bool place(const std::string& text, bool over_another);
  [[nodiscard]] bool is_ours(ino_t file) const;
  void beat();

  std::string folder_;
  std::string path_;
  std::string mark_;
  Descriptor file_;  // locked; its modification time shows that this job is alive
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread heart_;
};

}  // namespace muster
