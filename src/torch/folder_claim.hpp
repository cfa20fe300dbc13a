// One job at a time saves into a checkpoint directory.
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
  // `mark` is new. Throws std::runtime_error that names the job which uses the directory. A job
  // that may be on a lost host gets `lost_after` to show a sign of life; `tell` hears of the wait.
  FolderClaim(const std::string& folder, const std::string& mark,
              std::chrono::milliseconds lost_after,
              const std::function<void(const std::string&)>& tell);
  ~FolderClaim();
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;

  // Throws std::runtime_error if another job has taken the directory over meanwhile.
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
  Descriptor file_;  // ours, locked; its time of change shows that this job is alive
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread heart_;
};

}  // namespace muster
