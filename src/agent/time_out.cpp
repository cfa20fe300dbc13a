#include "agent/time_out.hpp"

#include <algorithm>
#include <array>

namespace muster::agent {
namespace {

constexpr std::size_t kTail = std::size_t{16} << 10;  // a Python traceback fits

constexpr std::array kWords = {
    std::string_view("timed out"),
    std::string_view("Timed out"),
    std::string_view("time out"),
    std::string_view("timeout"),
    std::string_view("Timeout"),
    std::string_view("TIMEOUT"),
    std::string_view("did not end within"),
};

}  // namespace

void ErrorTail::add(std::string_view bytes) {
  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTail)));
  if (tail_.size() > 2 * kTail) tail_.erase(0, tail_.size() - kTail);
}

bool ErrorTail::mentions_time_out() const {
  return std::any_of(kWords.begin(), kWords.end(), [this](std::string_view word) {
    return tail_.find(word) != std::string::npos;
  });
}

}  // namespace muster::agent
