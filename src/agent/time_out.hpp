// Finds out why a rank gave up, from the end of what it wrote to stderr. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster::agent {

// Whether a library that ranks use under every engine reports that the connection to another rank
// broke.
[[nodiscard]] bool says_cut_off(std::string_view errors);

class ErrorTail {
 public:
  void add(std::string_view bytes);
  // Recognises the messages of c10d, Gloo, NCCL's watchdog and muster's MPI backend.
  [[nodiscard]] bool mentions_time_out() const;
  // Like says_cut_off.
  [[nodiscard]] bool mentions_cut_off() const;

 private:
  std::string tail_;
};

}  // namespace muster::agent
