// What an inspection of a run found: the Scene that is judged, and what is kept of it in the run's
// folder.
#pragma once

#include <set>
#include <string>

#include "base/error.hpp"
#include "run/inquiry.hpp"
#include "run/record.hpp"
#include "why/verdict.hpp"

namespace muster::run {

// Times of the run as its launcher knows them.
struct Moment {
  double now_s = 0;  // Unix time
  double silent_s = 0;
};

// `members`: the hosts that should have answered. A host speaks only for the ranks that it runs.
// Pure.
[[nodiscard]] why::Scene scene_of(const Record& record, const std::set<std::string>& members,
                                  const HostViews& views, const Moment& moment);

// Writes FOLDER/why-N with the texts that people read (why.txt), the verdict (verdict.json) and all
// that was seen (scene.json), and returns its path.
[[nodiscard]] Result<std::string> keep_inspection(const std::string& folder,
                                                  const why::Scene& scene,
                                                  const why::Verdict& verdict);

constexpr const char* kWhyText = "why.txt";
constexpr const char* kWhyVerdict = "verdict.json";

// The folder of the newest inspection that was kept; empty: there is none.
[[nodiscard]] std::string newest_inspection(const std::string& folder);

}  // namespace muster::run
