#include "facts/program.hpp"

#include <gtest/gtest.h>

#include "fake_tree.hpp"
#include "sys/hash.hpp"

namespace muster::facts {
namespace {

TEST(Program, a_name_is_looked_up_in_path_only) {
  FakeTree tree;
  const std::string in_path = tree.write("bin/tool", "#!/bin/sh\n", 0755);
  tree.write("bin/data", "", 0644);  // not executable, so PATH lookup ignores it
  tree.write("job/tool", "#!/bin/sh\n", 0755);
  const std::string script = tree.write("job/train.py", "print()\n", 0644);
  const std::string path = "/nowhere:" + tree.root() + "/bin";
  const std::string job = tree.root() + "/job";
  EXPECT_EQ(find_program_file("tool", job, path), in_path);
  EXPECT_EQ(find_program_file("./tool", job, path), job + "/./tool");
  EXPECT_EQ(find_program_file("train.py", job, path), "");
  EXPECT_EQ(find_program_file("./train.py", job, path), job + "/./train.py");
  EXPECT_EQ(find_program_file(script, "/", path), script);
  EXPECT_EQ(find_program_file("data", job, path), "");
  EXPECT_EQ(find_program_file("./job", tree.root(), path), "");  // a folder
}

TEST(Program, folders_of_path_may_begin_in_the_job_s_folder_as_for_exec) {
  FakeTree tree;
  const std::string tool = tree.write("job/tool", "#!/bin/sh\n", 0755);
  const std::string other = tree.write("job/bin/other", "#!/bin/sh\n", 0755);
  const std::string job = tree.root() + "/job";
  EXPECT_EQ(find_program_file("tool", job, "/nowhere:"), tool);
  EXPECT_EQ(find_program_file("tool", job, ""), tool);
  EXPECT_EQ(find_program_file("other", job, "/nowhere:bin"), other);
  EXPECT_EQ(find_program_file("tool", job, "/nowhere"), "");
}

TEST(Program, that_only_the_folder_holds_is_not_there_and_told) {
  FakeTree tree;
  tree.write("hi", "#!/bin/sh\n", 0755);
  std::vector<NotSeen> not_seen;
  const Program program =
      read_program("hi", tree.root(), {{"PATH", "/nowhere"}}, kDeadline, not_seen).program;
  EXPECT_EQ(program.path, "");
  EXPECT_TRUE(program.only_in_folder);
  EXPECT_FALSE(read_program("ho", tree.root(), {{"PATH", "/nowhere"}}, kDeadline, not_seen)
                   .program.only_in_folder);
  EXPECT_FALSE(read_program("./hi", tree.root(), {}, kDeadline, not_seen).program.only_in_folder);
}

TEST(Program, without_its_interpreter_is_told) {
  FakeTree tree;
  tree.write("bad", "#!/no/such/python -u\nprint()\n", 0755);
  tree.write("good", "#! /bin/sh -e\n", 0755);
  std::vector<NotSeen> not_seen;
  EXPECT_EQ(read_program("./bad", tree.root(), {}, kDeadline, not_seen).program.missing_interpreter,
            "/no/such/python");
  EXPECT_EQ(
      read_program("./good", tree.root(), {}, kDeadline, not_seen).program.missing_interpreter, "");
  EXPECT_TRUE(not_seen.empty());
}

TEST(Program, a_script_is_hashed_and_loads_nothing) {
  FakeTree tree;
  const std::string script = tree.write("train.py", "print()\n", 0644);
  std::vector<NotSeen> not_seen;
  const Program program = read_program(script, tree.root(), {}, kDeadline, not_seen).program;
  EXPECT_EQ(program.path, script);
  EXPECT_FALSE(program.executable);
  EXPECT_EQ(program.identity.hash, sys::hash_text("print()\n"));
  EXPECT_EQ(program.identity.bytes, 8U);
  EXPECT_FALSE(program.libmpi);
  EXPECT_TRUE(not_seen.empty());
}

TEST(Program, that_is_not_there_is_no_probe_that_failed) {
  std::vector<NotSeen> not_seen;
  const Program program =
      read_program("no-such", "/", {{"PATH", "/bin"}}, kDeadline, not_seen).program;
  EXPECT_EQ(program.name, "no-such");
  EXPECT_EQ(program.path, "");
  EXPECT_TRUE(not_seen.empty());
}

}  // namespace
}  // namespace muster::facts
