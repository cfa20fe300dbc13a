#include "facts/software.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "fake_tree.hpp"

namespace muster::facts {
namespace {

const Library* library_in(const Software& software, const std::string& name) {
  const auto found = std::find_if(software.libraries.begin(), software.libraries.end(),
                                  [&](const Library& one) { return one.name == name; });
  return found == software.libraries.end() ? nullptr : &*found;
}

Software software_of(const std::string& program, HashBudget budget,
                     const Variables& environment = {{"PATH", "/usr/bin:/bin"}}) {
  std::vector<NotSeen> not_seen;
  const FoundProgram found = read_program(program, "/", environment, kDeadline, not_seen);
  HashCache hashes("", budget);
  Software software = read_software(found, environment, kDeadline, hashes, not_seen);
  EXPECT_TRUE(not_seen.empty());
  return software;
}

TEST(Software, of_a_program_is_what_its_loader_finds) {
  const Software software = software_of("/bin/sh", {.time = std::chrono::hours(1)});
  const Library* const libc = library_in(software, "libc.so.6");
  ASSERT_NE(libc, nullptr);
  EXPECT_TRUE(libc->path.starts_with('/'));
  EXPECT_GT(libc->bytes, 0U);
  EXPECT_FALSE(libc->build_id.empty());
  EXPECT_EQ(libc->hash.size(), 32U);
  EXPECT_EQ(software.python, "");
  EXPECT_TRUE(software.complete);
}

TEST(Software, is_known_by_size_and_build_id_where_there_was_no_time) {
  const Software software = software_of("/bin/sh", {});
  const Library* const libc = library_in(software, "libc.so.6");
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(libc->hash, "");
  EXPECT_FALSE(libc->build_id.empty());
}

TEST(Software, of_a_shell_script_is_not_known) {
  FakeTree tree;
  const std::string script = tree.write("train", "#!/bin/sh\npython3 train.py\n", 0755);
  EXPECT_EQ(software_of(script, {}), Software());
}

TEST(Software, of_python_are_its_packages_and_those_that_its_variables_add) {
  FakeTree tree;
  tree.write("more/einops-0.8.0.dist-info/METADATA", "");
  const Software software = software_of(
      "python3", {}, {{"PATH", "/usr/bin:/bin"}, {"PYTHONPATH", tree.root() + "/more"}});
  EXPECT_TRUE(software.python.starts_with("3.")) << software.python;
  ASSERT_TRUE(software.packages.contains("einops"));
  EXPECT_EQ(software.packages.at("einops"), "0.8.0");
  EXPECT_NE(library_in(software, "libc.so.6"), nullptr);
}

TEST(Software, takes_a_library_from_where_the_variables_say) {
  FakeTree tree;
  const Software usual = software_of("/bin/sh", {});
  const Library* const libc = library_in(usual, "libc.so.6");
  ASSERT_NE(libc, nullptr);
  std::filesystem::copy_file(libc->path, tree.root() + "/libc.so.6");
  const Software software =
      software_of("/bin/sh", {}, {{"PATH", "/usr/bin:/bin"}, {"LD_LIBRARY_PATH", tree.root()}});
  ASSERT_NE(library_in(software, "libc.so.6"), nullptr);
  EXPECT_EQ(library_in(software, "libc.so.6")->path, tree.root() + "/libc.so.6");
}

}  // namespace
}  // namespace muster::facts
