// The secret key of a job, which only its ranks know. `muster run` makes a new one for every
// attempt.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace muster {

class JobKey {
 public:
  static constexpr std::size_t kSignatureBytes = 20;

  // Reads MUSTER_JOB_KEY. Returns nothing if it is not set, as under another launcher. Throws
  // std::runtime_error if the key is short enough to be guessed.
  [[nodiscard]] static std::optional<JobKey> of_this_process();

  explicit JobKey(const std::string& secret);

  // HMAC-SHA-1. Without the key, nobody can forge a signature.
  [[nodiscard]] std::string sign(const std::string& text) const;
  [[nodiscard]] bool is_signature(const std::string& signature, const std::string& text) const;

 private:
  // The two blocks that HMAC derives from the key and hashes before the text.
  std::string inner_;
  std::string outer_;
};

}  // namespace muster
