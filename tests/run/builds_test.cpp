#include "run/builds.hpp"

#include <gtest/gtest.h>

namespace muster::run {
namespace {

Build build(const char* machine, const char* hash) {
  return {.machine = machine, .path = std::string("/at/") + machine, .binary = Binary{hash, 1}};
}

Build missing(const char* machine) {
  return {.machine = machine,
          .path = std::string("/at/") + machine,
          .binary = unexpected(Error{.what = "not there"})};
}

TEST(MachineNamed, TakesTheUsualNamesAndNothingThatIsNone) {
  for (const auto& [word, machine] :
       std::vector<std::pair<std::string, std::string>>{{"x86_64", "x86_64"},
                                                        {"amd64", "x86_64"},
                                                        {"aarch64", "aarch64"},
                                                        {"arm64", "aarch64"},
                                                        {"riscv64", "riscv64"},
                                                        {"", ""},
                                                        {"x86_64 ", ""},
                                                        {"../../x86_64", ""},
                                                        {"x86_64\x1b[2J", ""},
                                                        {"aarch64\raarch64", ""},
                                                        {std::string(33, 'a'), ""}}) {
    EXPECT_EQ(machine_named(word), machine) << word;
  }
}

TEST(Builds, ThePackageHasThemBesideTheDirectoryOfTheCommand) {
  EXPECT_EQ(installed_build("/usr/bin", "aarch64"), "/usr/libexec/muster/muster-aarch64");
  EXPECT_EQ(installed_build("/home/ann/venv/bin/", "x86_64"),
            "/home/ann/venv/libexec/muster/muster-x86_64");
}

TEST(Builds, OfThisProcessAreItsOwnAndTheOtherArchitectures) {
  const Builds builds = find_builds();
  ASSERT_GE(builds.size(), 2U);
  EXPECT_TRUE(builds.front().binary) << to_text(builds.front().binary.error());
  EXPECT_EQ(folder_of({builds.front()}), builds.front().binary->hash);
  for (std::size_t i = 1; i < builds.size(); ++i) {
    EXPECT_NE(builds[i].machine, builds.front().machine);
    EXPECT_NE(builds[i].path.find("/libexec/muster/muster-" + builds[i].machine),
              std::string::npos);
  }
}

TEST(Builds, TheFolderChangesWithEachBuildAndNotWithTheirOrder) {
  const Builds both = {build("x86_64", "1"), build("aarch64", "2")};
  EXPECT_EQ(folder_of({build("x86_64", "1"), missing("aarch64")}), "1");
  EXPECT_EQ(folder_of(both), folder_of({both[1], both[0]}));
  EXPECT_NE(folder_of(both), folder_of({build("x86_64", "1"), build("aarch64", "3")}));
  EXPECT_NE(folder_of(both), "1");
}

TEST(Builds, AHostGetsTheOneForItsMachine) {
  const Builds builds = {build("x86_64", "1"), build("aarch64", "2")};
  for (const auto& [told, hash] : std::vector<std::pair<std::string, std::string>>{
           {"x86_64", "1"}, {"amd64", "1"}, {"aarch64", "2"}, {"arm64", "2"}, {"", "1"}}) {
    const auto found = build_for(builds, "n1", told);
    ASSERT_TRUE(found) << told;
    EXPECT_EQ((*found)->binary->hash, hash) << told;
  }
}

TEST(Builds, WhatIsMissingIsNamedWithThePlaceAndTheHost) {
  const auto found = build_for({build("x86_64", "1"), missing("aarch64")}, "n7", "arm64");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().where.host, "n7");
  const std::string text = to_text(found.error());
  for (const char* part : {"aarch64", "/at/aarch64", "not there"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Builds, AnotherArchitectureIsRefusedByItsName) {
  const auto found = build_for({build("x86_64", "1"), build("aarch64", "2")}, "n7", "riscv64");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().what.find("riscv64"), std::string::npos);
  EXPECT_EQ(found.error().where.host, "n7");
}

}  // namespace
}  // namespace muster::run
