#include "setup/doorkeeper.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace muster::setup {
namespace {

constexpr const char* kRefusedPassword = "it refused the password";
constexpr const char* kRefusedPasswordHint =
    "check the user and the password; if the hosts have different passwords, set them up one by "
    "one";

Reply answer(int id, std::string_view text) {
  return {id, ReplyKind::kAnswer, Secret(text)};
}

std::string shown(const HostKey& key) {
  return fmt::format("{} {}", key.type, key.fingerprint);
}

// The first line of a prompt, for messages.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

void Doorkeeper::begin(std::span<const std::string> hosts) {
  running_ = {hosts.begin(), hosts.end()};
  person_was_asked_ = false;
  order_.clear();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    order_.emplace(hosts[i], i);
    got_password_.erase(hosts[i]);
    troubles_.erase(hosts[i]);
  }
}

std::vector<Reply> Doorkeeper::on_question(const Question& question) {
  const Prompt prompt = parse_prompt(question.prompt);
  if (auto reply = at_once(question, prompt)) {
    std::vector<Reply> replies;
    replies.push_back(*std::move(reply));
    return replies;
  }
  waiting_.push_back({question.id, question.host, prompt});
  return settle();
}

std::vector<Reply> Doorkeeper::on_end(const std::string& host) {
  running_.erase(host);
  std::erase_if(waiting_, [&host](const Waiting& waiting) { return waiting.host == host; });
  return settle();
}

const Trouble* Doorkeeper::trouble(const std::string& host) const {
  const auto found = troubles_.find(host);
  return found == troubles_.end() ? nullptr : &found->second;
}

std::optional<Reply> Doorkeeper::at_once(const Question& question, const Prompt& prompt) {
  if (question.from_jump_host) {
    return end(question.id, question.host,
               fmt::format("a jump host on the way asks a question: {}", first_line(prompt.text)),
               "first make sure that `ssh` to the jump host works without any question");
  }
  switch (prompt.kind) {
    case PromptKind::kHostKey:
      return host_key(question, prompt);
    case PromptKind::kHostKeyAgain:
      return answer(question.id, "no");
    case PromptKind::kPassword:
      return password(question, prompt);
    case PromptKind::kPassphrase:
      return passphrase(question, prompt);
    case PromptKind::kOther:
      break;
  }
  return end(
      question.id, question.host,
      fmt::format("the host asks something that muster cannot answer: {}", first_line(prompt.text)),
      "log in by hand once, or pass a key that the host accepts: --identity FILE");
}

std::optional<Reply> Doorkeeper::host_key(const Question& question, const Prompt& prompt) {
  const std::string& host = question.host;
  offers_.push_back({host, prompt.address, prompt.key});
  // For a pinned host, ssh asks only if the host presents a key of another type.
  if (const auto pinned = policy_.pinned.find(host); pinned != policy_.pinned.end()) {
    return refuse_key(
        question.id, host,
        fmt::format("its host key is not the pinned one: pinned {}, presented {}",
                    shown(pinned->second), shown(prompt.key)),
        "find out why the key changed; if the host was reinstalled: muster setup --forget " + host);
  }
  if (policy_.expected) {
    const auto known = policy_.expected->find(host);
    if (known == policy_.expected->end()) {
      return refuse_key(
          question.id, host,
          fmt::format("the file of --fingerprints does not list this host, which presented {}",
                      shown(prompt.key)),
          fmt::format("compare the fingerprint at the host's console, then add this line to the "
                      "file: {} {}",
                      host, prompt.key.fingerprint));
    }
    const auto& prints = known->second;
    if (std::find(prints.begin(), prints.end(), prompt.key.fingerprint) != prints.end()) {
      return answer(question.id, prompt.key.fingerprint);
    }
    return refuse_key(question.id, host,
                      fmt::format("its host key is not the expected one: expected {}, presented {}",
                                  fmt::join(prints, " or "), shown(prompt.key)),
                      "the file may be out of date or list another key type; otherwise somebody "
                      "may be intercepting the connection");
  }
  if (policy_.accept_all) return answer(question.id, prompt.key.fingerprint);
  if (person_.present()) return std::nullopt;
  return refuse_key(
      question.id, host,
      fmt::format("its host key is not known, and there is no terminal to ask you about it: {}",
                  shown(prompt.key)),
      "compare the key at the host's console, then pass --fingerprints FILE with the line: " +
          fmt::format("{} {}", host, prompt.key.fingerprint));
}

std::optional<Reply> Doorkeeper::password(const Question& question, const Prompt& prompt) {
  // If ssh asks again, the password was wrong. Sending it a second time could lock the account.
  if (got_password_.count(question.host) != 0) {
    return end(question.id, question.host, kRefusedPassword, kRefusedPasswordHint);
  }
  if (policy_.password) return give_password(question.id, question.host);
  if (person_.present()) return std::nullopt;
  return end(question.id, question.host,
             "the host wants a password, and there is no terminal to ask you for it: " +
                 first_line(prompt.text),
             "pass --password-file FILE, or a key that the host accepts: --identity FILE");
}

Reply Doorkeeper::give_password(int id, const std::string& host) {
  got_password_.insert(host);
  troubles_[host] = {kRefusedPassword, kRefusedPasswordHint, true};
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): called only if there is a password
  return {id, ReplyKind::kAnswer, policy_.password->clone()};
}

Reply Doorkeeper::passphrase(const Question& question, const Prompt& prompt) {
  if (auto known = passphrases_.find(prompt.key_file); known != passphrases_.end()) {
    return {question.id, ReplyKind::kAnswer, known->second.clone()};
  }
  if (!person_.present()) return {question.id, ReplyKind::kDecline};
  person_was_asked_ = true;
  std::optional<Secret> secret = person_.secret(prompt.text);
  if (!secret) return {question.id, ReplyKind::kDecline};
  Reply reply{question.id, ReplyKind::kAnswer, secret->clone()};
  passphrases_.emplace(prompt.key_file, *std::move(secret));
  return reply;
}

Reply Doorkeeper::refuse_key(int id, const std::string& host, std::string what, std::string hint) {
  troubles_[host] = {std::move(what), std::move(hint)};
  return answer(id, "no");
}

Reply Doorkeeper::end(int id, const std::string& host, std::string what, std::string hint) {
  troubles_[host] = {std::move(what), std::move(hint)};
  return {id, ReplyKind::kEndSsh};
}

std::vector<Reply> Doorkeeper::settle() {
  if (waiting_.empty() || waiting_.size() < running_.size()) return {};
  const bool keys = std::any_of(waiting_.begin(), waiting_.end(), [](const Waiting& waiting) {
    return waiting.prompt.kind == PromptKind::kHostKey;
  });
  return keys ? settle_keys() : settle_passwords();
}

std::vector<Reply> Doorkeeper::settle_keys() {
  std::sort(waiting_.begin(), waiting_.end(),
            [this](const Waiting& a, const Waiting& b) { return order_[a.host] < order_[b.host]; });
  std::vector<KeyOffer> offers;
  for (const Waiting& waiting : waiting_) {
    if (waiting.prompt.kind != PromptKind::kHostKey) continue;
    offers.push_back({waiting.host, waiting.prompt.address, waiting.prompt.key});
  }
  person_was_asked_ = true;
  const bool accepted = person_.accept(offers);
  std::vector<Reply> replies;
  for (const Waiting& waiting : waiting_) {
    if (waiting.prompt.kind != PromptKind::kHostKey) continue;
    // Answer with the fingerprint instead of "yes": ssh compares it with the key that it received.
    replies.push_back(
        accepted ? answer(waiting.id, waiting.prompt.key.fingerprint)
                 : refuse_key(waiting.id, waiting.host, "its host key was not accepted", ""));
  }
  std::erase_if(waiting_, [](const Waiting& w) { return w.prompt.kind == PromptKind::kHostKey; });
  return replies;
}

std::vector<Reply> Doorkeeper::settle_passwords() {
  if (!policy_.password) {
    const std::size_t more = waiting_.size() - 1;
    const std::string others =
        more == 0 ? "" : fmt::format(" (and {} more host{})", more, more == 1 ? "" : "s");
    person_was_asked_ = true;
    policy_.password = person_.secret(waiting_.front().host + others + ": password: ");
  }
  std::vector<Reply> replies;
  for (const Waiting& waiting : waiting_) {
    if (policy_.password) {
      replies.push_back(give_password(waiting.id, waiting.host));
    } else {
      replies.push_back(end(waiting.id, waiting.host, "no password was given", ""));
    }
  }
  waiting_.clear();
  return replies;
}

}  // namespace muster::setup
