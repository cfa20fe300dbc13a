// The rules of judge(), each of which may decide. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "why/transport.hpp"
#include "why/waits.hpp"

namespace muster::why {

// A scene and what was read from it. Its parts refer to each other: it is neither copied nor moved.
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

// How long ranks have waited, and from when on that is too long.
struct Patience {
  double waited_s = 0;
  bool at_most = false;  // no recorder told it: nobody has printed anything for so long
  double limit_s = 0;    // for what only time tells
  bool quiet = false;    // false: the waiting ranks moved while they were watched
};

[[nodiscard]] Patience patience_of(const Scene& scene, const Gathering& gathering);

// "15 ranks have waited for it in all_reduce #12 for 94 s".
[[nodiscard]] std::string waits_clause(const Case& the, const Gathering& gathering,
                                       std::size_t culprits);

// Fills ranks, hosts and details with where the ranks are; the headline is there already.
[[nodiscard]] Verdict about(const Case& the, Verdict verdict, const Ranks& ranks);
void add_connections(const Case& the, Verdict& verdict);

// Ranks that have given up waiting tell nothing any more, but somebody kept them waiting.
[[nodiscard]] std::optional<Verdict> judge_time_out(const Case& the);
[[nodiscard]] std::optional<Verdict> judge_progress(const Case& the);
// Ranks that others wait for, by what they do; `proven`: only what no healthy rank does.
[[nodiscard]] std::optional<Verdict> judge_culprits(const Case& the, bool proven);
// Ranks of which too little was seen, and their hosts.
[[nodiscard]] std::optional<Verdict> judge_unclear(const Case& the);
[[nodiscard]] std::optional<Verdict> judge_mismatch(const Case& the);
[[nodiscard]] std::optional<Verdict> judge_transport(const Case& the);
[[nodiscard]] std::optional<Verdict> judge_circle(const Case& the);
// Everybody has entered, and nobody gets out.
[[nodiscard]] std::optional<Verdict> judge_stuck(const Case& the);
[[nodiscard]] std::optional<Verdict> judge_rendezvous(const Case& the);
// Nobody waits for anybody, as far as muster sees.
[[nodiscard]] Verdict judge_quiet(const Case& the);

[[nodiscard]] std::string advice_for(Kind kind);

}  // namespace muster::why
