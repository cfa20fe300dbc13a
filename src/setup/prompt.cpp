#include "setup/prompt.hpp"

#include <algorithm>
#include <cctype>

#include "base/lower_case.hpp"
#include "base/printable.hpp"

namespace muster::setup {
namespace {

constexpr std::size_t kFingerprintLength = 50;  // "SHA256:" and 43 characters

// The text between `before` and the next `after`; empty if either is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t start = text.find(before);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + before.size());
  const std::size_t end = text.find(after);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The last word of `text`. Key types are a single word.
std::string last_word(std::string_view text) {
  const std::size_t start = text.find_last_of(" \n");
  return std::string(start == std::string_view::npos ? text : text.substr(start + 1));
}

Prompt host_key_prompt(const std::string& text) {
  Prompt prompt{.kind = PromptKind::kHostKey, .text = text};
  prompt.address = between(text, " (", ")' can't be established");
  const std::string_view sentence = between(text, "can't be established", "Are you sure");
  const std::size_t middle = sentence.find(" key fingerprint is ");
  const std::string_view fingerprint = between(sentence, " key fingerprint is ", ".\n");
  if (middle == std::string_view::npos || !is_fingerprint(fingerprint)) {
    prompt.kind = PromptKind::kOther;
    return prompt;
  }
  prompt.key = {last_word(sentence.substr(0, middle)), std::string(fingerprint)};
  return prompt;
}

// Servers word their prompts in their own way, so any prompt that mentions a password counts,
// unless it asks the user to change the password.
bool asks_for_password(std::string_view text) {
  const std::string low = lower_case(text);
  const auto mentions = [&low](std::string_view word) { return has(low, word); };
  return mentions("password") && !mentions("passphrase") && !mentions("new password") &&
         !mentions("old password") && !mentions("current password") && !mentions("retype");
}

}  // namespace

bool is_fingerprint(std::string_view word) {
  return word.size() == kFingerprintLength && word.rfind("SHA256:", 0) == 0 &&
         std::all_of(word.begin() + 7, word.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '/'; });
}

Prompt parse_prompt(std::string_view raw) {
  const std::string text = printable_lines(raw);
  if (text.rfind("The authenticity of host '", 0) == 0) return host_key_prompt(text);
  if (text.rfind("Please type 'yes', 'no'", 0) == 0)
    return {PromptKind::kHostKeyAgain, "", {}, "", text};
  if (text.rfind("Enter passphrase for ", 0) == 0) {
    return {PromptKind::kPassphrase, "", {}, std::string(between(text, "'", "'")), text};
  }
  if (asks_for_password(text)) return {PromptKind::kPassword, "", {}, "", text};
  return {PromptKind::kOther, "", {}, "", text};
}

std::optional<HostKey> presented_key(std::string_view stderr_text) {
  if (!has(stderr_text, "REMOTE HOST IDENTIFICATION HAS CHANGED")) return std::nullopt;
  const std::string_view type =
      between(stderr_text, "The fingerprint for the ", " key sent by the remote host is");
  std::string_view rest = between(stderr_text, "key sent by the remote host is", "Please contact");
  const std::size_t start = rest.find("SHA256:");
  if (start == std::string_view::npos) return std::nullopt;
  rest = rest.substr(start, kFingerprintLength);
  if (!is_fingerprint(rest)) return std::nullopt;
  return HostKey{printable_lines(type), std::string(rest)};
}

}  // namespace muster::setup
