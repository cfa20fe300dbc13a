// The result of inspecting a run: the Scene for the judge, and the files stored in the run's
// folder.
#pragma once

#include <set>
#include <string>

#include "base/error.hpp"
#include "run/inquiry.hpp"
#include "run/record.hpp"
#include "why/verdict.hpp"

namespace muster::run {

// The launcher's clock at the moment of an inspection.
struct Moment {
  double now_s = 0;  // Unix time
  double silent_s = 0;
};

// `members` are the hosts that should have answered. What a host says about ranks of other hosts is
// ignored. Pure.
[[nodiscard]] why::Scene scene_of(const Record& record, const std::set<std::string>& members,
                                  const HostViews& views, const Moment& moment);

// Writes FOLDER/why-N with a text for people (why.txt), the verdict (verdict.json) and everything
// that was seen (scene.json). Returns the path of that directory.
[[nodiscard]] Result<std::string> keep_inspection(const std::string& folder,
                                                  const why::Scene& scene,
                                                  const why::Verdict& verdict);

constexpr const char* kWhyText = "why.txt";
constexpr const char* kWhyVerdict = "verdict.json";

// The folder of the newest stored inspection; empty if there is none.
[[nodiscard]] std::string newest_inspection(const std::string& folder);

}  // namespace muster::run
