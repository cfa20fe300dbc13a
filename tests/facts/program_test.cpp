#include "facts/program.hpp"

#include <gtest/gtest.h>

#include "fake_tree.hpp"
#include "sys/hash.hpp"

namespace muster::facts {
namespace {

TEST(Program, a_name_is_looked_up_in_path_and_then_in_the_folder) {
  FakeTree tree;
  const std::string in_path = tree.write("bin/tool", "#!/bin/sh\n", 0755);
  tree.write("bin/data", "", 0644);  // not executable: PATH does not count
  tree.write("job/tool", "#!/bin/sh\n", 0755);
  const std::string script = tree.write("job/train.py", "print()\n", 0644);
  const std::string path = "/nowhere::" + tree.root() + "/bin";
  const std::string job = tree.root() + "/job";
  EXPECT_EQ(find_program_file("tool", job, path), in_path);
  EXPECT_EQ(find_program_file("./tool", job, path), job + "/./tool");
  EXPECT_EQ(find_program_file("train.py", job, path), script);
  EXPECT_EQ(find_program_file(script, "/", path), script);
  EXPECT_EQ(find_program_file("data", job, path), "");
  EXPECT_EQ(find_program_file("job", tree.root(), path), "");  // a folder
}

TEST(Program, a_script_is_hashed_and_loads_nothing) {
  FakeTree tree;
  const std::string script = tree.write("train.py", "print()\n", 0644);
  std::vector<NotSeen> not_seen;
  const Program program = read_program("train.py", tree.root(), {}, not_seen);
  EXPECT_EQ(program.path, script);
  EXPECT_FALSE(program.executable);
  EXPECT_EQ(program.identity.hash, sys::hash_text("print()\n"));
  EXPECT_EQ(program.identity.bytes, 8U);
  EXPECT_FALSE(program.libmpi);
  EXPECT_TRUE(not_seen.empty());
}

TEST(Program, that_is_not_there_is_no_probe_that_failed) {
  std::vector<NotSeen> not_seen;
  const Program program = read_program("no-such", "/", {{"PATH", "/bin"}}, not_seen);
  EXPECT_EQ(program.name, "no-such");
  EXPECT_EQ(program.path, "");
  EXPECT_TRUE(not_seen.empty());
}

}  // namespace
}  // namespace muster::facts
