// The rules of judge(). Each may decide the verdict. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "why/transport.hpp"
#include "why/waits.hpp"

namespace muster::why {

// A scene and what was derived from it. Its parts refer to each other, so it cannot be copied or
// moved.
struct Case {
  explicit Case(const Scene& of)
      : scene(of),
        ranks(read_ranks(of)),
        waits(find_waits(ranks)),
        links(find_bad_links(of, ranks)) {}
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
  Case(Case&&) = delete;
  Case& operator=(Case&&) = delete;
  ~Case() = default;

  const Scene& scene;
  std::vector<RankReading> ranks;
  Waits waits;
  BadLinks links;
};

// How long ranks have waited, and how long they may.
struct Patience {
  double waited_s = 0;
  // No recorder reported the wait, so `waited_s` is an upper bound: the time without any output.
  bool at_most = false;
  double limit_s = 0;  // for verdicts that depend on time alone
  bool quiet = false;  // false: the waiting ranks moved during the inspection
};

[[nodiscard]] Patience patience_of(const Scene& scene, const Gathering& gathering);

// Returns, for example, "15 ranks have waited for it in all_reduce #12 for 94 s". With several
// `culprits`, "it" becomes "them".
[[nodiscard]] std::string waits_clause(const Case& the, const Gathering& gathering,
                                       std::size_t culprits);

// Completes a verdict about `ranks` with their numbers, hosts, details about where they are, and
// advice. The headline must be set already.
[[nodiscard]] Verdict about(const Case& the, Verdict verdict, const Ranks& ranks);
void add_connections(const Case& the, Verdict& verdict);

// If ranks have timed out, accuses the ranks that kept them waiting. The ones that timed out have
// ended, so they cannot be inspected any more.
[[nodiscard]] std::optional<Verdict> judge_time_out(const Case& the);
[[nodiscard]] std::optional<Verdict> judge_progress(const Case& the);
// Accuses ranks that others wait for, according to what they do. With `proven`, only accuses them
// of what a healthy rank never does.
[[nodiscard]] std::optional<Verdict> judge_culprits(const Case& the, bool proven);
// For ranks of which too little was seen, for example because their hosts do not answer.
[[nodiscard]] std::optional<Verdict> judge_unclear(const Case& the);
[[nodiscard]] std::optional<Verdict> judge_mismatch(const Case& the);
[[nodiscard]] std::optional<Verdict> judge_transport(const Case& the);
[[nodiscard]] std::optional<Verdict> judge_circle(const Case& the);
// For an operation that all of its ranks have entered and none leaves.
[[nodiscard]] std::optional<Verdict> judge_stuck(const Case& the);
[[nodiscard]] std::optional<Verdict> judge_rendezvous(const Case& the);
// For jobs in which no rank is seen to wait for another.
[[nodiscard]] Verdict judge_quiet(const Case& the);

[[nodiscard]] std::string advice_for(Kind kind);

}  // namespace muster::why
