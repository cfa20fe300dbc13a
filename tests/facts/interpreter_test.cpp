#include "facts/interpreter.hpp"

#include <gtest/gtest.h>

#include "fake_tree.hpp"

namespace muster::facts {
namespace {

TEST(Interpreter, is_read_as_the_kernel_reads_it) {
  const struct {
    std::string file, interpreter, argument;
  } cases[] = {{"#!/bin/sh\necho", "/bin/sh", ""},
               {"#! \t/bin/sh  -e -u \n", "/bin/sh", "-e -u"},
               {"#!/bin/sh", "/bin/sh", ""},
               {"#!/bin/sh\r\n", "/bin/sh\r", ""},
               {std::string("#!/bin/sh\0x\n", 13), "/bin/sh", ""},
               {"#!" + std::string(1000, 'x'), std::string(253, 'x'), ""}};
  for (const auto& one : cases) {
    const auto shebang = parse_shebang(one.file);
    ASSERT_TRUE(shebang) << one.file;
    EXPECT_EQ(shebang->interpreter, one.interpreter);
    EXPECT_EQ(shebang->argument, one.argument);
  }
  for (const std::string file : {"", "#", "#!", "#!\n/bin/sh", "#! \t", "print()", " #!/bin/sh"}) {
    EXPECT_FALSE(parse_shebang(file)) << file;
  }
}

TEST(Interpreter, is_looked_for_and_so_is_what_env_is_told_to_start) {
  FakeTree tree;
  const std::string python = tree.write("bin/python3", "", 0755);
  tree.write("bin/env", "", 0755);
  const std::string path = tree.root() + "/bin";
  const std::string env = "#!" + path + "/env ";
  const struct {
    std::string file, missing;
  } cases[] = {{"#!" + python, ""},
               {"#!/no/python3\n", "/no/python3"},
               {"#!bin/python3", ""},
               {"#!python3", "python3"},
               {env + "python3", ""},
               {env + "python9", "python9"},
               // The kernel passes the rest of the line as one word, so env looks for a program
               // with this whole name.
               {env + "python3 -u", "python3 -u"},
               {env + "-S python3 -u", ""},
               {env + "-S python9 -u", "python9"},
               {env + "-i sh", ""},
               {env + "-S A=b python9", ""},
               {"print()", ""}};
  for (const auto& one : cases) {
    EXPECT_EQ(missing_interpreter(one.file, tree.root(), path), one.missing) << one.file;
  }
}

}  // namespace
}  // namespace muster::facts
