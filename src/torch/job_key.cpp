#include "torch/job_key.hpp"

#include <cstdlib>
#include <stdexcept>

#include <c10/util/hash.h>

namespace muster {
namespace {

constexpr std::size_t kBlockBytes = 64;    // block size of SHA-1
constexpr std::size_t kLeastLetters = 32;  // 128 bits in hexadecimal digits

std::string sha1(const std::string& text) {
  const std::string digits = c10::sha1(text).str();
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string each_xor(std::string text, char with) {
  for (char& one : text) one = static_cast<char>(one ^ with);
  return text;
}

}  // namespace

std::optional<JobKey> JobKey::of_this_process() {
  const char* secret = std::getenv("MUSTER_JOB_KEY");
  if (secret == nullptr || *secret == '\0') return std::nullopt;
  if (std::string(secret).size() < kLeastLetters) {
    throw std::runtime_error("MUSTER_JOB_KEY has fewer than " + std::to_string(kLeastLetters) +
                             " characters, so it could be guessed\n  hint: unset it; muster run "
                             "makes one for every job");
  }
  return JobKey(secret);
}

JobKey::JobKey(const std::string& secret) {
  std::string block = secret.size() > kBlockBytes ? sha1(secret) : secret;
  block.resize(kBlockBytes, '\0');
  inner_ = each_xor(block, 0x36);
  outer_ = each_xor(block, 0x5c);
}

std::string JobKey::sign(const std::string& text) const {
  return sha1(outer_ + sha1(inner_ + text));
}

bool JobKey::is_signature(const std::string& signature, const std::string& text) const {
  const std::string right = sign(text);
  if (signature.size() != right.size()) return false;
  int differs = 0;  // all bytes are compared, so that the time that it takes reveals nothing
  for (std::size_t i = 0; i < right.size(); ++i) differs |= signature[i] ^ right[i];
  return differs == 0;
}

}  // namespace muster
