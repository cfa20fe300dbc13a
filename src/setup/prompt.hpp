// Parses the prompts and warnings of the ssh client. The texts are OpenSSH's (8.5 to 9.x). Parts of
// them come from the host, which may be hostile.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::setup {

enum class PromptKind {
  kHostKey,       // an unknown host key: may it be trusted?
  kHostKeyAgain,  // the answer was neither yes, no nor the key's fingerprint
  kPassword,      // the login password
  kPassphrase,    // the passphrase of a private key file on this machine
  kOther,         // anything else, such as a one-time code or an expired password
};

// A host's public key, as ssh describes it.
struct HostKey {
  std::string type;         // "ED25519"
  std::string fingerprint;  // "SHA256:" and 43 characters

  friend bool operator==(const HostKey&, const HostKey&) = default;
};

struct Prompt {
  PromptKind kind = PromptKind::kOther;
  std::string address;   // kHostKey: "198.18.1.1"; may be "[198.18.1.1]:2222"
  HostKey key;           // kHostKey
  std::string key_file;  // kPassphrase
  std::string text;      // the whole prompt, printable
};

[[nodiscard]] Prompt parse_prompt(std::string_view text);

// "SHA256:" and 43 characters of base64, the only form that muster compares or shows.
[[nodiscard]] bool is_fingerprint(std::string_view word);

// The key that a host presented instead of the pinned one, from ssh's warning.
[[nodiscard]] std::optional<HostKey> presented_key(std::string_view stderr_text);

}  // namespace muster::setup
