// A password or passphrase. It exists in one place, is wiped on destruction, and is copied only by
// `clone`.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <strings.h>

namespace muster::setup {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view text) {
    for (const char c : text) add(c);
  }
  Secret(Secret&& other) noexcept : Secret(other.text()) { other.wipe(); }
  Secret& operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    wipe();
    for (const char c : other.text()) add(c);
    other.wipe();
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { wipe(); }

  // Characters beyond the capacity are dropped.
  void add(char c) {
    if (size_ < bytes_.size()) bytes_[size_++] = c;
  }
  void drop_last() {
    if (size_ > 0) bytes_[--size_] = 0;
  }

  [[nodiscard]] Secret clone() const { return Secret(text()); }
  [[nodiscard]] std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  void wipe() {
    ::explicit_bzero(bytes_.data(), size_);
    size_ = 0;
  }

  // A string would leave a copy behind whenever it grows.
  std::array<char, 4096> bytes_ = {};
  std::size_t size_ = 0;
};

}  // namespace muster::setup
