// Whether a rank gave up because others did not come, from the end of what it wrote to stderr.
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::agent {

class ErrorTail {
 public:
  void add(std::string_view bytes);
  // Words of c10d, Gloo, NCCL and muster's MPI backend for an operation that took too long. A
  // program that fails for another time-out only ends a little later because of them.
  [[nodiscard]] bool mentions_time_out() const;

 private:
  std::string tail_;
};

}  // namespace muster::agent
