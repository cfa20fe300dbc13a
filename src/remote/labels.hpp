// Shows output as it arrives, with the host's name before every line.
#pragma once

#include <string>
#include <string_view>

namespace muster::remote {

// One output stream of one host. Holds back an unfinished line, so that lines of two hosts never
// mix.
class Labels {
 public:
  explicit Labels(std::string_view host) : label_(std::string(host) + ": ") {}

  // Returns the lines that `chunk` completes, labelled; empty if it completes none.
  [[nodiscard]] std::string take(std::string_view chunk);

  // Removes `text` from the end of the unfinished line, if it ends in it.
  void drop_end(std::string_view text);

  // Returns the unfinished line, labelled and completed; "" if there is none. To be called when the
  // stream has ended.
  [[nodiscard]] std::string rest();

 private:
  std::string label_;
  std::string unfinished_;
};

}  // namespace muster::remote
