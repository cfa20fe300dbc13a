#include "facts/libraries.hpp"

#include <algorithm>

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
  EXPECT_EQ(libraries.loaded,
            (std::vector<LoadedLibrary>{{"libmpi_cxx.so.40", "/usr/lib/libmpi_cxx.so.40"},
                                        {"libmpi.so.40", "/opt/my mpi/lib/libmpi.so.40"},
                                        {"libc.so.6", "/lib/libc.so.6"}}));
}

TEST(Loaded, that_were_given_by_their_paths) {
  const Libraries libraries = parse_loaded(
      "\t/p/torch/_C.so (0x00007f1)\n"
      "\tstatically linked\n"
      "\t/no/address\n");
  EXPECT_EQ(libraries.loaded, (std::vector<LoadedLibrary>{{"_C.so", "/p/torch/_C.so"}}));
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

const LoadedLibrary* loaded_in(const Libraries& libraries, const std::string& name) {
  const auto found = std::find_if(libraries.loaded.begin(), libraries.loaded.end(),
                                  [&](const LoadedLibrary& one) { return one.name == name; });
  return found == libraries.loaded.end() ? nullptr : &*found;
}

TEST(Libraries, that_a_program_opens_are_searched_for_as_it_would) {
  const auto own = read_libraries("/proc/self/exe", {}, kDeadline);
  ASSERT_TRUE(own) << to_text(own.error());
  const LoadedLibrary* const stdcxx = loaded_in(*own, "libstdc++.so.6");
  ASSERT_NE(stdcxx, nullptr);
  const std::vector<std::string> opened = {stdcxx->path, "/no/such/gone.so"};
  const auto libraries = read_libraries("/bin/sh", {}, kDeadline, opened);
  ASSERT_TRUE(libraries) << to_text(libraries.error());
  EXPECT_NE(loaded_in(*libraries, "libstdc++.so.6"), nullptr);
  EXPECT_NE(loaded_in(*libraries, "libm.so.6"), nullptr) << "which libstdc++ needs";
  EXPECT_EQ(loaded_in(*libraries, "gone.so"), nullptr);
  EXPECT_TRUE(libraries->missing.empty());
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
