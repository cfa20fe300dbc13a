// The output of ssh, sshd, ssh-keygen and muster's script on a host, and the files of `muster
// setup`.
#include <array>
#include <string>

#include "hosts/name.hpp"
#include "remote/bring_back.hpp"
#include "remote/diagnose.hpp"
#include "remote/sync.hpp"
#include "require.hpp"
#include "setup/client_config.hpp"
#include "setup/fingerprints.hpp"
#include "setup/host_script.hpp"
#include "setup/launcher.hpp"
#include "setup/prompt.hpp"

namespace muster::fuzz {
namespace {

void require_good_key(const setup::HostKey& key) {
  require(setup::is_fingerprint(key.fingerprint), "only whole fingerprints");
  require_printable(key.type);
}

void check_prompt(std::string_view text) {
  const setup::Prompt prompt = setup::parse_prompt(text);
  require_printable(prompt.text + prompt.address + prompt.key_file);
  require(prompt.text.size() <= text.size(), "a prompt does not grow");
  if (prompt.kind == setup::PromptKind::kHostKey) require_good_key(prompt.key);
}

void check_failure(std::string_view text) {
  if (const auto key = setup::presented_key(text)) require_good_key(*key);
  const remote::ChangedKey changed = remote::changed_key(text);
  require_printable(changed.presented + changed.pinned_file);
  const auto failure = remote::diagnose(text);
  const Error error = remote::unreachable("n1", text);
  require(!failure || error.what == failure->what, "a known failure is named");
  require_printable(to_text(error));
}

void check_script_report(std::string_view text) {
  const setup::ScriptReport report = setup::parse_script_report(text);
  for (const std::string& change : report.changes) require_printable(change);
  for (const std::string& address : report.addresses) require(is_printable(address), "no newline");
  require(is_printable(report.public_key + report.failure.value_or("")), "one line each");
}

void check_key_files(std::string_view text) {
  for (const setup::HostKey& key : setup::parse_key_list(text)) require_good_key(key);
  (void)setup::parse_ssh_version(text);
  const auto key = setup::parse_public_key(text, "key.pub");
  if (!key) return require_printable(to_text(key.error()));
  require(is_printable(*key), "a key is one line");
  require(key->find('\'') == std::string::npos, "a key cannot leave its quotes");
}

void check_fingerprints(std::string_view text) {
  const auto known = setup::parse_fingerprints(text, "file");
  if (!known) return require_printable(to_text(known.error()));
  for (const auto& [name, prints] : *known) {
    for (const std::string& print : prints) {
      require(setup::is_fingerprint(print), "only whole fingerprints");
    }
  }
}

void check_known_hosts(std::string_view text) {
  const setup::SplitLines split = setup::split_known_hosts(text);
  const auto lines = [](std::string_view all) { return std::count(all.begin(), all.end(), '\n'); };
  const auto wanted = lines(text) + (text.empty() || text.back() == '\n' ? 0 : 1);
  require(lines(split.others) == wanted, "line numbers are kept");
  require(setup::split_known_hosts(split.others).known_hosts.empty(), "no key is left over");
}

void check_entries(std::string_view text) {
  const auto entries = setup::parse_entries(text, "hosts");
  if (!entries) return require_printable(to_text(entries.error()));
  for (const setup::Entry& entry : *entries) {
    require(setup::check_name(entry.name).has_value(), "only good names");
    require(setup::check_entry(entry).has_value(), "only good entries");
  }
  const auto again = setup::parse_entries(setup::entries_text(*entries), "hosts");
  require(again && *again == *entries, "what was written is read back");
  (void)setup::config_text(*entries);
}

void check_rsync(std::string_view text) {
  if (const auto changes = remote::parse_stats(text)) {
    require_printable(remote::to_text(*changes));
    require(remote::to_text(*changes).size() < 200, "bounded");
  }
  for (const std::string& name : remote::newer_there(text)) require(is_printable(name), "a name");
  for (const std::string& name : remote::left_out(text)) require(is_printable(name), "a name");
  require_printable(remote::listing(text));
  (void)remote::is_rsync(text);
  (void)remote::compares_exactly(text);
}

constexpr std::array<Check, 8> kChecks = {check_prompt,    check_failure,      check_script_report,
                                          check_key_files, check_fingerprints, check_known_hosts,
                                          check_entries,   check_rsync};

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return muster::fuzz::run_chosen(muster::fuzz::kChecks, data, size);
}
