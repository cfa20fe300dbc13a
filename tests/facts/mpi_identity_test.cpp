#include "facts/mpi_identity.hpp"

#include <gtest/gtest.h>

#include "facts/mpi.hpp"
#include "fake_tree.hpp"

namespace muster::facts {
namespace {

using std::string_literals::operator""s;

TEST(MpiIdentity, from_the_strings_of_a_library) {
  const struct {
    std::string constants;
    MpiIdentity identity;
  } cases[] = {
      {"v5.0.11rc1\0Open MPI v%d.%d.%d\0, ident: %s\0"
       "127.0.0.1\0"
       "5.0.11\0"s,
       {"openmpi", "5.0.11"}},
      {"2.7.1\0Open MPI v%d.%d.%d\0setting this string to a valid filename tells 4.1.4 to dump\0"s,
       {"openmpi", "4.1.4"}},
      {"1.3.2\0"
       "3.4a2\0MPICH Version: %s\0Intel(R) MPI Library %s for Linux* OS\n\0"
       "2021.18.1\0"s,
       {"intel", "2021.18.1"}},
      {"0.13.99\0"
       "2.0\0"
       "802.1a\0MPICH Version:      %s\nMPICH\0"
       "5.0.2\0"s,
       {"mpich", "5.0.2"}},
      {"HYDRA build details:\n\0"
       "4.0.2\0"s,
       {"mpich", "4.0.2"}},
      {"MPICH Version:\0"
       "3.4rc1"s,
       {"mpich", "3.4rc1"}},
      {"Open MPI v%d.%d.%d\0"s, {"openmpi", ""}},
      {"something else\0"
       "5.0.2\0"s,
       {"", ""}},
      {"", {"", ""}},
  };
  for (const auto& one : cases)
    EXPECT_EQ(identify_mpi(one.constants), one.identity) << one.constants;
}

TEST(MpiIdentity, from_the_answer_of_a_launcher) {
  EXPECT_EQ(identify_mpi_answer("mpirun (Open MPI) 4.1.4\n\nReport bugs to"),
            (MpiIdentity{"openmpi", "4.1.4"}));
  EXPECT_EQ(identify_mpi_answer("Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 2026\n"),
            (MpiIdentity{"intel", "2021.18"}));
  EXPECT_EQ(identify_mpi_answer("HYDRA build details:\n    Version:                     4.0.2\n"),
            (MpiIdentity{"mpich", "4.0.2"}));
  EXPECT_EQ(identify_mpi_answer("HYDRA build details:\n    Version:   \x1b[2J\x95\n"),
            (MpiIdentity{"mpich", ""}));
  EXPECT_EQ(identify_mpi_answer("usage: mpirun"), MpiIdentity());
}

// If no file identifies a launcher, muster runs it and asks.
TEST(Mpi, asks_a_launcher_that_is_a_script_of_somebody_s) {
  FakeTree tree;
  const std::string launcher = tree.write(
      "bin/mpirun", "#!/bin/sh\necho \"mpirun (Open MPI) $MUSTER_TEST_VERSION\"\n", 0755);
  const Mpi mpi = read_mpi(launcher, {{"MUSTER_TEST_VERSION", "9.8.7"}}, kDeadline);
  EXPECT_EQ(mpi.kind, "openmpi");
  EXPECT_EQ(mpi.version, "9.8.7");
  EXPECT_EQ(mpi.launcher, launcher);
  EXPECT_EQ(mpi.library.path, "");
}

// For example, an mpirun for another architecture than the kernel's: its library is elsewhere.
TEST(Mpi, asks_a_launcher_whose_version_no_file_tells) {
  FakeTree tree;
  tree.write("bin/prterun", "#!/bin/sh\n", 0755);
  const std::string launcher =
      tree.write("bin/mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 5.0.3'\n", 0755);
  EXPECT_EQ(read_mpi(launcher, {}, kDeadline).version, "5.0.3");

  tree.write("bin/mpirun", "#!/bin/sh\necho 'HYDRA build details: Version: 4.0.2'\n", 0755);
  const Mpi contradicted = read_mpi(launcher, {}, kDeadline);
  EXPECT_EQ(contradicted.kind, "openmpi");
  EXPECT_EQ(contradicted.version, "");
}

TEST(Mpi, is_found_in_the_library_beside_the_launcher) {
  FakeTree tree;
  // Only the first bytes are those of an ELF file, so the whole file is searched.
  const std::string library = tree.write("lib/libmpi.so.12",
                                         "\x7f"
                                         "ELF\0MPICH Version:\0"
                                         "4.3.1\0"s);
  tree.write("lib/libmpi.so.40", "INPUT(libmpi.so.41)");
  const Mpi mpi = read_mpi(tree.write("bin/mpirun", "#!/bin/sh\nexit 1\n", 0755), {}, kDeadline);
  EXPECT_EQ(mpi.kind, "mpich");
  EXPECT_EQ(mpi.version, "4.3.1");
  EXPECT_EQ(mpi.library.path, library);
  EXPECT_EQ(mpi.library.hash.size(), 32U);
  EXPECT_GT(mpi.library.bytes, 0U);
}

// An administrator may have made /usr/bin/mpirun a link to a new MPI, while the old one's library
// is still in /usr/lib.
TEST(Mpi, behind_a_link_is_the_one_that_it_leads_to) {
  FakeTree tree;
  const auto library = [](const std::string& version) {
    return "\x7f"
           "ELF\0Open MPI v%d.%d.%d\0"s +
           version + '\0';
  };
  tree.write("usr/lib/libmpi.so.40", library("4.1.4"));
  tree.write("opt/lib/libmpi.so.40", library("5.0.11"));
  const std::string real = tree.write("opt/bin/mpirun", "#!/bin/sh\nexit 1\n", 0755);
  std::filesystem::create_directories(tree.root() + "/usr/bin");
  const std::string launcher = tree.root() + "/usr/bin/mpirun";
  std::filesystem::create_symlink(real, launcher);
  const Mpi mpi = read_mpi(launcher, {}, kDeadline);
  EXPECT_EQ(mpi.version, "5.0.11");
  EXPECT_EQ(mpi.launcher, launcher);
}

TEST(Mpi, a_library_of_another_family_is_not_taken) {
  FakeTree tree;
  tree.write("lib/libmpi.so.40",
             "\x7f"
             "ELF\0Open MPI v%d.%d.%d\0"
             "5.0.1\0"s);
  tree.write("bin/mpiexec.hydra",
             "\x7f"
             "ELF\0HYDRA build details:\0"
             "4.0.2\0"s,
             0755);
  const Mpi mpi = read_mpi(tree.write("bin/mpirun", "#!/bin/sh\nexit 1\n", 0755), {}, kDeadline);
  EXPECT_EQ(mpi.kind, "mpich");
  EXPECT_EQ(mpi.version, "4.0.2");
  EXPECT_EQ(mpi.library.path, "");
}

}  // namespace
}  // namespace muster::facts
