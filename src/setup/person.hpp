// The person who accepts host keys and knows passwords.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "base/interface.hpp"
#include "setup/prompt.hpp"
#include "setup/secret.hpp"

namespace muster::setup {

// How long a person may take for one answer.
constexpr std::chrono::minutes kAnswerDeadline{14};
// How long one login may wait for answers: those about host keys, a passphrase and a password come
// one after the other. The minute is for what happens in between.
constexpr std::chrono::minutes kQuestionsDeadline = 3 * kAnswerDeadline + std::chrono::minutes(1);

// A host's key that a person must accept before it is pinned.
struct KeyOffer {
  std::string host;
  std::string address;
  HostKey key;
};

// Host, address, key type and fingerprint in columns, one line per offer. Pure.
[[nodiscard]] std::string offers_table(std::span<const KeyOffer> offers);

// Reads a line up to Enter, key by key. Returns nothing after Ctrl-C, Ctrl-D or the deadline.
[[nodiscard]] std::optional<Secret> typed_line(int terminal,
                                               std::chrono::steady_clock::time_point deadline);

class Person : public Interface {
 public:
  [[nodiscard]] virtual bool present() const = 0;
  // Accepts either all keys or none.
  [[nodiscard]] virtual bool accept(std::span<const KeyOffer> offers) = 0;
  // Returns nothing if the person declines.
  [[nodiscard]] virtual std::optional<Secret> secret(const std::string& prompt) = 0;
  virtual void tell(const std::string& text) = 0;
};

// The person at the terminal. If standard error is not a terminal, nobody is present.
class TerminalPerson : public Person {
 public:
  [[nodiscard]] bool present() const override;
  [[nodiscard]] bool accept(std::span<const KeyOffer> offers) override;
  [[nodiscard]] std::optional<Secret> secret(const std::string& prompt) override;
  void tell(const std::string& text) override;
};

}  // namespace muster::setup
