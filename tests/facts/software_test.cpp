#include "facts/software.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

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
  EXPECT_TRUE(software.all_libraries);
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

TEST(Software, is_known_without_a_plugin_at_which_the_loader_stops) {
  FakeTree tree;
  const Software usual = software_of("/bin/sh", {});
  ASSERT_NE(library_in(usual, "libc.so.6"), nullptr);
  const auto libm = std::filesystem::path(library_in(usual, "libc.so.6")->path)
                        .replace_filename("libm.so.6")
                        .string();
  if (!std::filesystem::exists(libm)) GTEST_SKIP() << "needs glibc";
  std::ifstream file(libm, std::ios::binary);
  std::string plugin{std::istreambuf_iterator<char>(file), {}};
  const std::string nccl = tree.write("libnccl.so.2", plugin);
  for (std::size_t at = plugin.find("libc.so.6"); at != std::string::npos;
       at = plugin.find("libc.so.6", at)) {
    plugin.replace(at, 9, "libx.so.6");
  }
  tree.write("libnccl-net.so", plugin);
  tree.write("libx.so.6", "no library");
  const Variables environment = {
      {"PATH", "/usr/bin:/bin"}, {"LD_LIBRARY_PATH", tree.root()}, {"LD_PRELOAD", nccl}};
  std::vector<NotSeen> not_seen;
  HashCache hashes("", {});
  FoundProgram found;
  found.program.path = "/bin/sh";
  const Software software = read_software(found, environment, kDeadline, hashes, not_seen);
  ASSERT_EQ(not_seen.size(), 1U);
  EXPECT_EQ(not_seen[0].what, "software.plugins");
  EXPECT_FALSE(software.all_libraries);
  EXPECT_NE(library_in(software, "libc.so.6"), nullptr);
  EXPECT_NE(library_in(software, "libnccl.so.2"), nullptr);
  EXPECT_EQ(library_in(software, "libnccl-net.so"), nullptr);
}

}  // namespace
}  // namespace muster::facts
