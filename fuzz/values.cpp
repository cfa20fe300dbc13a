// JSON values that come from a host, from a program on it or from a file.
#include <array>
#include <cmath>
#include <string>

#include "agent/assignment.hpp"
#include "agent/record.hpp"
#include "bench/compare.hpp"
#include "bench/judge.hpp"
#include "bench/lines.hpp"
#include "bench/page.hpp"
#include "bench/results.hpp"
#include "bench/suspects.hpp"
#include "bench/table.hpp"
#include "checks/changes.hpp"
#include "cli/kept_command.hpp"
#include "facts/facts.hpp"
#include "facts/hash_cache.hpp"
#include "facts/saved_state.hpp"
#include "facts/summary.hpp"
#include "lab/spec.hpp"
#include "launch/job_state.hpp"
#include "launch/plan.hpp"
#include "layout/layout.hpp"
#include "own_folder.hpp"
#include "require.hpp"
#include "run/about.hpp"
#include "run/log_order.hpp"
#include "run/record.hpp"

namespace muster::fuzz {
namespace {

template <class Value>
void require_good_refusal(const Result<Value>& refused) {
  require(!refused.error().what.empty(), "a refusal says what is wrong");
  require_printable(to_text(refused.error()));
}

// Requires that a parsed value, written and parsed again, stays the same.
template <class Parse>
void require_round_trip(std::string_view text, Parse parse) {
  const auto value = parse(std::string(text));
  if (!value) return require_good_refusal(value);
  const std::string written = to_json(*value);
  const auto again = parse(written);
  require(again.has_value() && to_json(*again) == written, "what was written is read back");
}

void check_facts(std::string_view text) {
  require_round_trip(text, facts::parse_facts);
  if (const auto facts = facts::parse_facts(std::string(text))) {
    require_printable(facts::summary(*facts));
  }
}

void check_saved_state(std::string_view text) {
  require_round_trip(text, facts::parse_saved_state);
  const auto state = facts::parse_saved_state(std::string(text));
  if (!state) return;
  require_printable(facts::date_text(state->saved_s));
  if (!state->facts) return;
  for (const checks::Change& one : checks::changes_between(*state->facts, facts::Facts{})) {
    require_printable(one.aspect + one.of + one.now + one.then);
  }
  (void)checks::changes_between(facts::Facts{}, *state->facts);
}

void check_request(std::string_view text) {
  require_round_trip(text, facts::parse_request);
}

void check_layout(std::string_view text) {
  require_round_trip(text, layout::parse_layout);
}

void check_plan(std::string_view text) {
  require_round_trip(text, launch::parse_plan);
  (void)launch::prospect(launch::parse_job_state(text));
}

void check_lab(std::string_view text) {
  require_round_trip(text, lab::from_json);
}

void check_placement(std::string_view text) {
  const auto placement = agent::parse_placement(std::string(text));
  if (!placement) return;
  require(agent::parse_placement(agent::to_json(*placement)) == placement,
          "a placement is read back");
}

void check_event(std::string_view text) {
  const auto event = agent::parse_event(std::string(text));
  if (!event) return require_good_refusal(event);
  require(event->start.has_value() != event->end.has_value(), "an event is a start or an end");
  const std::string line = event->start ? to_line(*event->start) : to_line(*event->end);
  const auto again = agent::parse_event(line);
  require(again && (again->start ? to_line(*again->start) : to_line(*again->end)) == line,
          "an event is read back");
}

void check_summary(std::string_view text) {
  const auto summary = run::parse_summary(std::string(text));
  if (!summary) return require_good_refusal(summary);
  require(summary->ranks >= 0, "a number of ranks is not negative");
}

void check_about(std::string_view text) {
  (void)own_folder().write("about.json", text);
  const auto about = run::read_about(own_folder().path());
  if (!about) return require_good_refusal(about);
  require_printable(about->name + about->command);
}

void check_order(std::string_view text) {
  const auto entry = run::parse_order_entry(text);
  if (!entry || !(std::abs(entry->unix_s) < 1e12)) return;
  const std::string line = run::to_line(*entry);
  const auto again = run::parse_order_entry(std::string_view(line).substr(0, line.size() - 1));
  require(again && again->end == entry->end && again->stream == entry->stream,
          "an entry is read back");
}

void check_kept_command(std::string_view text) {
  (void)own_folder().write("command.json", text);
  const auto command = cli::read_command(own_folder().path());
  if (!command) require_good_refusal(command);
}

// Requires that the texts made from results are printable and that their page contains no script.
void require_good_pages(const bench::Results& results) {
  require_printable(bench::table_text(results));
  require_printable(bench::verdict_text(results));
  require_printable(bench::rank_count_table(results));
  require_printable(bench::compare_text(results, results, "a", "b"));
  require(bench::page_html(results).find("<script") == std::string::npos, "a page runs no code");
  (void)bench::judge(results, 0);
  const auto suspects = bench::find_suspects(results.pairs);
  (void)bench::second_look(suspects, results.pairs);
  (void)bench::confirm(suspects, results.pairs);
}

void check_results(std::string_view text) {
  require_round_trip(text, bench::parse_results);
  if (const auto results = bench::parse_results(std::string(text))) require_good_pages(*results);
}

// Parses the text as lines that muster-bench's ranks print, and checks what is made of the results.
void check_bench_lines(std::string_view text) {
  bench::Results results;
  bench::Lines lines(results, {"n1", "n2"});
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    (void)lines.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  require_printable(lines.wrong());
  require_good_pages(results);
}

void check_hashes(std::string_view text) {
  for (const facts::HashedFile& file : facts::parse_hashed_files(std::string(text))) {
    require(facts::parse_hashed_files(facts::to_json({file})).size() == 1, "a hash is read back");
  }
}

constexpr std::array<Check, 15> kChecks = {
    check_facts,       check_request, check_layout,  check_plan,         check_lab,
    check_placement,   check_event,   check_summary, check_kept_command, check_results,
    check_bench_lines, check_about,   check_order,   check_hashes,       check_saved_state};

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return muster::fuzz::run_chosen(muster::fuzz::kChecks, data, size);
}
