#include "cli/bench_states.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "bench/saved_rates.hpp"
#include "cli/reach.hpp"
#include "cli/saved_states.hpp"
#include "sys/clock.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

Error of_other_machine(const facts::SavedState& state, const std::string& name) {
  return {.what = fmt::format("the host calls itself {}, but its saved state is that of {}", name,
                              state.hostname),
          .hint = fmt::format("if you replaced the machine, save the state of the new one:\n"
                              "  muster check -H {} --save",
                              state.host)};
}

std::vector<bench::Pair> first_look(const std::vector<bench::Pair>& pairs) {
  std::vector<bench::Pair> first = pairs;
  std::erase_if(first, [](const bench::Pair& pair) { return pair.again; });
  return first;
}

}  // namespace

void read_states(PairStates& states) {
  if (!has_whole_hosts()) return;
  std::vector<std::string> hosts;
  for (const auto& [host, name] : states.names) hosts.push_back(host);
  std::vector<facts::SavedState> saved = read_saved_states(hosts);
  for (const facts::SavedState& state : saved) {
    const std::string& name = states.names.at(state.host);
    std::string why = state.problem;
    if (why.empty() && !is_of_machine(state, name)) why = of_other_machine(state, name).what;
    if (why.empty()) continue;
    sys::print_err("muster: not compared with the saved rates of {}: {}\n", state.host, why);
  }
  states.saved = bench::comparable_states(std::move(saved), states.names);
}

void judge_by_states(const PairStates& states, bench::Results& results) {
  if (results.pairs.empty()) return;
  if (auto verdict = bench::judge_slowed(results.pairs, states.saved, states.how)) {
    results.verdicts.push_back(*std::move(verdict));
  } else if (has_saved_states()) {
    sys::print_err("muster: {}\n",
                   has_whole_hosts()
                       ? fmt::format("no saved rates to compare with ({})", states.how)
                       : "not compared with saved rates inside a Slurm job or a pod");
  }
}

Result<void> save_rates(const PairStates& states, const bench::Results& results, bool slow_too) {
  const std::vector<bench::Pair> measured = first_look(results.pairs);
  const std::vector<bench::Pair> pairs =
      slow_too ? measured : bench::pairs_to_save(results, states.saved, states.how);
  bench::RatesByHost rates =
      bench::rates_by_host(pairs, states.how, states.names, sys::unix_time());
  std::vector<std::string> hosts;
  for (const auto& [host, of_host] : rates) hosts.push_back(host);
  SaveResult result;
  if (!hosts.empty()) {
    MUSTER_TRY(result, update_saved_states(hosts, [&](facts::SavedState& state) -> Result<void> {
                 const std::string& name = states.names.at(state.host);
                 if (!is_of_machine(state, name)) {
                   return unexpected(of_other_machine(state, name));
                 }
                 if (!name.empty()) state.hostname = name;
                 for (facts::SavedRate& rate : rates.at(state.host)) {
                   facts::put_rate(state, std::move(rate));
                 }
                 return {};
               }));
  }
  const std::set<std::string> saved(result.saved.begin(), result.saved.end());
  const auto count = std::count_if(pairs.begin(), pairs.end(), [&](const bench::Pair& pair) {
    return saved.contains(pair.one) && saved.contains(pair.other);
  });
  sys::print_err("muster: saved the rates of {} of {} links in {}\n", count, measured.size(),
                 saved_states_folder());
  if (pairs.size() < measured.size()) {
    sys::print_err("  hint: slow links were not saved; --save-slow saves them too\n");
  }
  return report_not_saved(result);
}

}  // namespace muster::cli
