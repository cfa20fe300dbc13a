#include "launch/batch.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sys/quote.hpp"

namespace muster::launch {
namespace {

// Returns the number of slots if it is given and the same for every host, otherwise 0.
int equal_slots(std::span<const hosts::Host> hosts) {
  if (hosts.empty()) return 0;
  const bool same = std::all_of(hosts.begin(), hosts.end(), [&](const hosts::Host& host) {
    return host.slots == hosts.front().slots;
  });
  return same ? hosts.front().slots : 0;
}

// Quotes a word for an #SBATCH line if necessary. sbatch understands quotes and backslashes there,
// and takes `#` as the start of a comment.
std::string directive_word(const std::string& word) {
  constexpr std::string_view kSpecial = " \t\"'\\#";
  if (!word.empty() && word.find_first_of(kSpecial) == std::string::npos) return word;
  std::string quoted = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

Words allocation_flags(const layout::Job& job, std::span<const hosts::Host> hosts,
                       std::span<const std::string> more) {
  Words flags;
  const auto set = [&flags](std::string_view name, const auto& value) {
    flags.push_back(fmt::format("{}={}", name, value));
  };
  const std::size_t wanted = job.nodes > 0 ? static_cast<std::size_t>(job.nodes) : hosts.size();
  const auto named = hosts.first(std::min(wanted, hosts.size()));
  if (job.elastic && wanted > 0) {
    set("--nodes", fmt::format("{}-{}", std::min<std::size_t>(job.min_nodes, wanted), wanted));
  } else if (wanted > 0) {
    set("--nodes", wanted);
  }
  const int each = job.ranks_per_host > 0 ? job.ranks_per_host : equal_slots(named);
  if (job.ranks > 0) set("--ntasks", job.ranks);
  if (each > 0) set("--ntasks-per-node", each);
  if (job.threads > 0) set("--cpus-per-task", job.threads);
  if (!named.empty()) {
    Words names;
    for (const hosts::Host& host : named) names.push_back(host.name);
    set("--nodelist", fmt::format("{}", fmt::join(names, ",")));
  }
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

std::string to_script(const Batch& batch) {
  std::string text = fmt::format("#!/bin/sh\n{}\n", kScriptMark);
  Words flags = {"--job-name=" + batch.name, "--output=" + batch.output};
  flags.insert(flags.end(), batch.flags.begin(), batch.flags.end());
  for (const std::string& flag : flags) text += fmt::format("#SBATCH {}\n", directive_word(flag));
  text += "\n# Runs on the first host of the job; muster starts the ranks on all of them.\n";
  text += fmt::format("muster={}\n", sys::quote(batch.muster));
  text += fmt::format("other={}$(uname -m)\n", sys::quote(batch.other_musters));
  return text + fmt::format(
                    "if [ -x \"$other\" ]; then muster=$other; fi\n"
                    "exec \"$muster\" {}\n",
                    sys::quote(batch.arguments));
}

}  // namespace muster::launch
