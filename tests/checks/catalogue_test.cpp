#include "catalogue/catalogue.hpp"

#include <gtest/gtest.h>

#include "checks/rules.hpp"

namespace muster::checks {
namespace {

TEST(Catalogue, HoldsEveryIdThatARuleGives) {
  for (const std::string_view id : kFailureIds) EXPECT_NE(catalogue::find(id), nullptr) << id;
}

}  // namespace
}  // namespace muster::checks
