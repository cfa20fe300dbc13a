// Output shown while it arrives: every line under the name of the host that said it.
#pragma once

#include <string>
#include <string_view>

namespace muster::remote {

// One stream of one host. Holds back an unfinished line, so that lines of two hosts never mix.
class Labels {
 public:
  explicit Labels(std::string_view host) : label_(std::string(host) + ": ") {}

  // The lines that `chunk` completes, labelled; empty when it completes none.
  [[nodiscard]] std::string take(std::string_view chunk);

  // Forgets the end of the unfinished line, if it is this text.
  void drop_end(std::string_view text);

  // What is left when the stream ends, as a line.
  [[nodiscard]] std::string rest();

 private:
  std::string label_;
  std::string unfinished_;
};

}  // namespace muster::remote
