#include "programs/train/agreement.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

#include "torch/exchange.hpp"

namespace muster::programs {
namespace {

std::string first_part(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

void say_agreed(const Group& group, const std::string& text) {
  if (group->getRank() == 0) std::fputs(text.c_str(), stderr);
  try {
    static_cast<void>(gather_texts(*group, ""));
  } catch (const std::exception&) {
    // A rank has already ended, so there is nobody to wait for.
  }
}

void together(const Group& group, const std::function<void()>& act) {
  std::string failure;
  try {
    act();
  } catch (const std::exception& error) {
    failure = error.what();
    if (failure.empty()) failure = "failed";
  }
  const auto texts = gather_texts(*group, failure.empty() ? "" : own_host() + "\n" + failure);
  const auto failed = std::count_if(texts.begin(), texts.end(),
                                    [](const std::string& text) { return !text.empty(); });
  if (failed == 0) return;
  if (texts.size() == 1) throw AgreedError(failure);
  std::map<std::string, std::string> ranks;  // message -> the ranks that have it
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    const std::string host = first_part(texts[rank]);
    std::string& listed = ranks[texts[rank].substr(host.size() + 1)];
    listed += (listed.empty() ? "rank " : ", rank ") + std::to_string(rank) + " on " + host;
  }
  std::string all;
  for (const auto& [text, who] : ranks) all += (all.empty() ? "" : "\n  ") + who + ": " + text;
  throw AgreedError(all);
}

void check_same_files(const Group& group, const std::vector<DataFile>& files) {
  std::string own = own_host();
  for (const DataFile& file : files) own += "\n" + file.name + " " + file.hash;
  const auto texts = gather_texts(*group, own);
  const auto after_host = [](const std::string& text) { return text.substr(text.find('\n')); };
  std::string differing;
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    if (after_host(texts[rank]) == after_host(texts[0])) continue;
    for (const DataFile& file : files) {
      const auto line = [&](const std::string& text) {
        const size_t at = text.find("\n" + file.name + " ");
        return at == std::string::npos ? "" : first_part(text.substr(at + 1));
      };
      if (line(texts[rank]) == line(texts[0])) continue;
      differing += "\n  rank " + std::to_string(rank) + " on " + first_part(texts[rank]) +
                   " has a different " + file.name;
    }
  }
  if (differing.empty()) return;
  throw AgreedError("the data set is not the same on all ranks; compared with rank 0 on " +
                    first_part(texts[0]) + ":" + differing +
                    "\n  Copy it again, for example with: muster sync --checksum");
}

}  // namespace muster::programs
