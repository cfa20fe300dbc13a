// Whether a rank gave up because others did not come, from the end of what it wrote to stderr.
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::agent {

class ErrorTail {
 public:
  void add(std::string_view bytes);
  // In the words of c10d, Gloo, NCCL's watchdog and muster's MPI backend.
  [[nodiscard]] bool mentions_time_out() const;

 private:
  std::string tail_;
};

}  // namespace muster::agent
