// Tables of scenes and their verdicts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scenes.hpp"

namespace muster::why {

using Builder = SceneBuilder;

struct VerdictCase {
  const char* name;
  std::function<Builder()> scene;
  Kind kind;
  bool hang;
  std::vector<int> ranks;
  const char* part = "";  // must be part of the text
};

inline std::string all_of(const Verdict& verdict) {
  std::string text = verdict.headline;
  for (const std::string& detail : verdict.details) text += "\n" + detail;
  return text;
}

inline void expect_verdicts(const std::vector<VerdictCase>& cases) {
  for (const VerdictCase& one : cases) {
    SCOPED_TRACE(one.name);
    const Builder builder = one.scene();
    const Verdict verdict = judge(builder);
    SCOPED_TRACE(all_of(verdict));
    EXPECT_EQ(name_of(verdict.kind), name_of(one.kind));
    EXPECT_EQ(verdict.hang, one.hang);
    if (one.hang) {
      EXPECT_EQ(verdict.ranks, one.ranks);
    }
    EXPECT_NE(all_of(verdict).find(one.part), std::string::npos) << one.part;
  }
}

// All ranks but rank 3 of 4 are in all_reduce #12.
inline Builder missing(double age = 94) {
  Builder scene(4);
  scene.others_in(3, "all_reduce", 12, age).did(3, "all_reduce", 11);
  return scene;
}

// Ranks without recorders. All but `elsewhere` wait in this function of c10d.
inline Builder plain(int ranks, int elsewhere, const std::string& function) {
  Builder scene(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != elsewhere)
      scene.python(rank, {kC10d + function, "train.py:90 main"}).doing(rank, "S", "futex");
  }
  return scene.without_recorder();
}

}  // namespace muster::why
