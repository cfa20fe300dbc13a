#include "why/mismatch.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "verdict_cases.hpp"

namespace muster::why {
namespace {

// Rank 1 of 3 passes fewer elements.
Builder with_other_size(const std::string& operation, const std::string& backend) {
  Builder scene = Builder(3).others_in(-1, operation, 12, 50);
  for (const int rank : {0, 1, 2}) scene.group(rank).backend = backend;
  scene.group(1).operations.back().sizes = "[[999]]";
  return scene;
}

bool has_mismatch(const Builder& scene) {
  return find_mismatch(read_ranks(scene)).has_value();
}

TEST(FindMismatch, KnowsWhichCollectivesNeedEqualSizes) {
  EXPECT_TRUE(has_mismatch(with_other_size("all_gather_into_tensor", "nccl")));
  EXPECT_TRUE(has_mismatch(with_other_size("_all_gather_base", "nccl")));
  EXPECT_TRUE(has_mismatch(with_other_size("all_gather", "gloo")));
  EXPECT_TRUE(has_mismatch(with_other_size("all_gather", "mpi")));
  EXPECT_FALSE(has_mismatch(with_other_size("all_gather", "nccl")));
  EXPECT_FALSE(has_mismatch(with_other_size("all_gather", "")));
  EXPECT_FALSE(has_mismatch(with_other_size("all_to_all", "gloo")));
  const auto found = find_mismatch(read_ranks(with_other_size("_all_gather_base", "nccl")));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->operation, "_all_gather_base");
}

TEST(FindMismatch, KeepsTheBackendsOfAGroupApart) {
  Builder scene(2);
  for (const int rank : {0, 1}) {
    scene.in(rank, "all_reduce", 12, 50);
    scene.group(rank).backend = "nccl";
  }
  scene.rank(1).groups.push_back(scene.group(1));
  scene.rank(1).groups.back().backend = "gloo";
  scene.rank(1).groups.back().operations.back().name = "barrier";
  EXPECT_FALSE(has_mismatch(scene));
  scene.rank(0).groups.push_back(scene.rank(1).groups.back());
  scene.rank(0).groups.back().operations.back().name = "broadcast";
  EXPECT_TRUE(has_mismatch(scene));
}

TEST(FindMismatch, SurvivesTheLargestNumber) {
  Builder scene(2);
  scene.in(0, "all_reduce", 12, 50).in(1, "barrier", 12, 50);
  for (const int rank : {0, 1}) {
    scene.group(rank).operations.back().number = INT64_MAX;
    scene.group(rank).operations.push_back({.name = "all_reduce", .number = INT64_MAX - 1});
  }
  EXPECT_TRUE(has_mismatch(scene));
}

}  // namespace
}  // namespace muster::why
