#include "facts/libraries.hpp"

#include <gtest/gtest.h>

#include "fake_tree.hpp"

namespace muster::facts {
namespace {

TEST(Loaded, as_glibc_lists_it) {
  const Libraries libraries = parse_loaded(
      "\tlinux-vdso.so.1 (0x00007ff)\n"
      "\tlibmpi_cxx.so.40 => /usr/lib/libmpi_cxx.so.40 (0x00007f1)\n"
      "\tlibmpi.so.40 => /opt/my mpi/lib/libmpi.so.40 (0x00007f2)\n"
      "\tlibzzz.so => not found\n"
      "\tlibc.so.6 => /lib/libc.so.6 (0x00007f3)\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f4)\n");
  EXPECT_EQ(libraries.libmpi, "/opt/my mpi/lib/libmpi.so.40");
  EXPECT_EQ(libraries.missing, std::vector<std::string>{"libzzz.so"});
}

TEST(Loaded, as_musl_complains) {
  const Libraries libraries = parse_loaded(
      "\t/lib/ld-musl-x86_64.so.1 (0x7f)\n"
      "Error loading shared library libzzz.so: No such file or directory (needed by ./m)\n");
  EXPECT_EQ(libraries.missing, std::vector<std::string>{"libzzz.so"});
}

TEST(Libraries, of_a_real_program_are_all_there) {
  const auto libraries = read_libraries("/bin/sh", {}, kDeadline);
  ASSERT_TRUE(libraries) << to_text(libraries.error());
  EXPECT_TRUE(libraries->missing.empty());
  EXPECT_EQ(libraries->libmpi, "");
}

TEST(Libraries, of_a_script_there_are_none) {
  FakeTree tree;
  const auto libraries = read_libraries(tree.write("s", "#!/bin/sh\n", 0755), {}, kDeadline);
  ASSERT_TRUE(libraries);
  EXPECT_TRUE(libraries->missing.empty());
  EXPECT_FALSE(read_libraries(tree.root() + "/missing", {}, kDeadline));
}

}  // namespace
}  // namespace muster::facts
