#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "checks/rules.hpp"

namespace muster::checks {
namespace {

std::set<std::string> catalogue_ids() {
  std::ifstream file(MUSTER_CATALOGUE);
  const std::string sign = "- id: ";
  std::set<std::string> ids;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(sign)) ids.insert(line.substr(sign.size()));
  }
  return ids;
}

TEST(Catalogue, HoldsEveryIdThatARuleGives) {
  const std::set<std::string> ids = catalogue_ids();
  for (const std::string_view id : kFailureIds) EXPECT_TRUE(ids.contains(std::string(id))) << id;
}

}  // namespace
}  // namespace muster::checks
