// A password or passphrase: wiped when it goes, copied only where that is said aloud.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include <strings.h>

namespace muster::setup {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  // A copy and a wipe: moving a short string would leave its characters behind.
  // NOLINTNEXTLINE(performance-move-constructor-init)
  Secret(Secret&& other) noexcept : text_(other.text_) { other.wipe(); }
  Secret& operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    wipe();
    text_ = other.text_;
    other.wipe();
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { wipe(); }

  [[nodiscard]] Secret clone() const { return Secret(text_); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void wipe() {
    ::explicit_bzero(text_.data(), text_.size());
    text_.clear();
  }

  std::string text_;
};

}  // namespace muster::setup
