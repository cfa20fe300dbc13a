#include "facts/activation.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/environment.hpp"
#include "fake_tree.hpp"

namespace muster::facts {
namespace {

using namespace std::literals;

Activation run(const std::string& lines, std::chrono::milliseconds deadline = 30s) {
  return activate(lines, own_environment(), deadline);
}

TEST(Activation, gives_what_the_lines_exported) {
  const Activation done = run("export MUSTER_A='two\nlines' MUSTER_B=\nMUSTER_C=not_exported");
  EXPECT_EQ(done.failure, "");
  EXPECT_EQ(done.environment.at("MUSTER_A"), "two\nlines");
  EXPECT_EQ(done.environment.at("MUSTER_B"), "");
  EXPECT_FALSE(done.environment.contains("MUSTER_C"));
  EXPECT_FALSE(done.environment.contains("muster_lines"));
}

TEST(Activation, forgets_what_the_lines_unset) {
  ASSERT_TRUE(own_environment().contains("PATH"));
  EXPECT_FALSE(run("unset PATH").environment.contains("PATH"));
}

TEST(Activation, leaves_the_shells_own_variables_as_they_were) {
  const Variables own = own_environment();
  const Activation done = run("cd /tmp; export MUSTER_A=1");
  for (const std::string name : {"PWD", "OLDPWD", "SHLVL", "_"}) {
    EXPECT_EQ(done.environment.contains(name), own.contains(name)) << name;
    if (own.contains(name)) {
      EXPECT_EQ(done.environment.at(name), own.at(name)) << name;
    }
  }
}

TEST(Activation, sources_a_file_whose_own_commands_may_fail) {
  FakeTree tree;
  const std::string file = tree.write("activate", "false\nexport MUSTER_A=1\n[ -n \"\" ]\ntrue\n");
  const Activation done = run("source " + file);
  EXPECT_EQ(done.failure, "");
  EXPECT_EQ(done.environment.at("MUSTER_A"), "1");
}

// oneAPI's script refuses to run twice, and a container image may have run it already. muster
// sources it nevertheless.
TEST(Activation, sources_setvars_where_it_ran_before) {
  FakeTree tree;
  const std::string file = tree.write("setvars.sh",
                                      "if [ -n \"${SETVARS_COMPLETED:-}\" ]; then return 3; fi\n"
                                      "export SETVARS_COMPLETED=1 I_MPI_ROOT=/opt/intel/mpi\n");
  ::setenv("SETVARS_COMPLETED", "1", 1);  // NOLINT(concurrency-mt-unsafe)
  const Activation done = run("source " + file);
  ::unsetenv("SETVARS_COMPLETED");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(done.failure, "");
  EXPECT_EQ(done.environment.at("I_MPI_ROOT"), "/opt/intel/mpi");
}

TEST(Activation, fails_at_the_first_line_that_does) {
  const Activation done = run("export A=1\nls /no/such/file\nexport MUSTER_A=1");
  EXPECT_NE(done.failure.find("line 2 ended"), std::string::npos) << done.failure;
  EXPECT_NE(done.failure.find("/no/such/file"), std::string::npos) << done.failure;
  EXPECT_TRUE(done.environment.empty());
}

TEST(Activation, fails_when_the_lines_end_the_shell) {
  for (const std::string lines : {"exit 0", "exec true", "exit 3", "kill -9 $$"}) {
    EXPECT_NE(run(lines).failure, "") << lines;
  }
  EXPECT_NE(run("exit 3").failure.find("exit code 3"), std::string::npos);
}

TEST(Activation, fails_on_lines_that_are_no_shell) {
  EXPECT_NE(run("if true; then").failure, "");
}

TEST(Activation, is_not_disturbed_by_output) {
  const Activation done =
      run("seq 200000; seq 200000 >&2; printf 'A=1\\0B=2\\0'; export MUSTER_A=1");
  EXPECT_EQ(done.failure, "");
  EXPECT_EQ(done.environment.at("MUSTER_A"), "1");
  EXPECT_FALSE(done.environment.contains("B"));
}

TEST(Activation, keeps_only_the_end_of_much_output_for_the_failure) {
  const Activation done = run("seq 200000\nfalse");
  EXPECT_LT(done.failure.size(), 200U);
  EXPECT_NE(done.failure.find("200000"), std::string::npos) << done.failure;
}

TEST(Activation, makes_the_failure_printable) {
  EXPECT_EQ(run("printf '\\033[2J'; false").failure.find('\033'), std::string::npos);
}

TEST(Activation, reads_no_input) {
  const Activation done = run("cat\nexport MUSTER_A=1");
  EXPECT_EQ(done.environment.at("MUSTER_A"), "1");
}

TEST(Activation, ends_at_its_deadline) {
  EXPECT_NE(run("while :; do :; done", 200ms).failure.find("time limit"), std::string::npos);
}

TEST(Activation, survives_a_path_that_leads_nowhere) {
  EXPECT_EQ(run("export PATH=/nowhere").environment.at("PATH"), "/nowhere");
}

TEST(Environment, is_what_stands_between_the_marks) {
  const auto read = parse_environment("noise\0M\0A=1\0=x\0none\0B=a=b\0M\0rest"s, "M");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (Variables{{"A", "1"}, {"B", "a=b"}}));
  EXPECT_FALSE(parse_environment("A=1\0"s, "M"));
  EXPECT_FALSE(parse_environment("M\0A=1\0"s, "M"));
}

TEST(Environment, digest_names_what_was_set_or_changed) {
  const Variables before = {{"A", "1"}, {"B", "1"}, {"PWD", "/"}};
  const Variables after = {{"A", "1"}, {"B", "2"}, {"C", "2"}, {"PWD", "/x"}, {"_", "env"}};
  const auto digest = changed_digest(before, after);
  ASSERT_EQ(digest.size(), 2U);
  // Equal values have equal digests, which do not contain them.
  EXPECT_EQ(digest.at("B"), digest.at("C"));
  EXPECT_EQ(digest.at("B").size(), 32U);
}

TEST(Environment, seen_are_the_folders_only) {
  EXPECT_EQ(seen_values({{"PATH", "/a"}, {"SECRET", "s"}, {"CONDA_PREFIX", "/c"}}),
            (Variables{{"CONDA_PREFIX", "/c"}, {"PATH", "/a"}}));
}

}  // namespace
}  // namespace muster::facts
