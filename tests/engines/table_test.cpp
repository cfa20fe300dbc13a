// Properties of every row, so that a new engine needs no test of its own here.
#include <set>

#include <gtest/gtest.h>

#include "engines/kind.hpp"

namespace muster::engines {
namespace {

TEST(Engines, EachRowSaysWhatIsAskedOfEveryEngine) {
  std::set<std::string_view> words;
  for (const Kind& kind : all()) {
    EXPECT_TRUE(words.insert(kind.word).second) << kind.word;
    EXPECT_FALSE(kind.name.empty()) << kind.word;
    EXPECT_FALSE(kind.launchers.empty()) << kind.word;
    EXPECT_EQ(&find(kind.word), &kind);
  }
}

TEST(Engines, AnMpiTellsItsRanksAndHasAPackage) {
  for (const Kind& kind : all()) {
    if (!kind.is_mpi) continue;
    EXPECT_NE(kind.ranks, nullptr) << kind.word;
    EXPECT_FALSE(kind.pmi.empty()) << kind.word;
    EXPECT_FALSE(kind.package.empty()) << kind.word;
  }
}

TEST(Engines, RankVariablesAreComplete) {
  for (const RankVariables* variables : rank_variables()) {
    EXPECT_FALSE(variables->told_by.empty());
    EXPECT_FALSE(variables->rank.empty()) << variables->told_by;
    EXPECT_FALSE(variables->size.empty()) << variables->told_by;
    EXPECT_FALSE(variables->local_rank.empty()) << variables->told_by;
  }
}

// The kernel cuts process names after 15 characters, so a longer one would never be found.
TEST(Engines, NamesOfProcessesFitTheKernel) {
  for (const Kind& kind : all()) {
    for (const std::string_view name : kind.processes) EXPECT_LE(name.size(), 15U) << name;
  }
}

TEST(Engines, AnUnknownWordHasARowWithNothingSet) {
  const Kind& none = find("nosuch");
  EXPECT_EQ(none.word, "");
  EXPECT_FALSE(none.is_mpi || none.comes_with_pytorch || none.is_elastic);
  EXPECT_EQ(&find(""), &none);
}

TEST(Engines, AreFoundByHowTheirHostsAreReached) {
  EXPECT_EQ(reached_by(HostsBy::kAllocation).word, "slurm");
  EXPECT_EQ(with_pytorch(HostsBy::kSsh).word, "torchrun");
  EXPECT_EQ(with_pytorch(HostsBy::kPod).word, "pods");
}

TEST(Engines, HaveNamesForPeople) {
  EXPECT_EQ(name_of("openmpi", "5.0.11"), "Open MPI 5.0.11");
  EXPECT_EQ(name_of("torchrun", "2.13.0"), "torchrun, PyTorch 2.13.0");
  EXPECT_EQ(name_of("slurm"), "Slurm");
  EXPECT_EQ(name_of("lsf", "10"), "lsf 10");
  EXPECT_EQ(name_of(""), "an unknown MPI");
}

TEST(Engines, LaunchersOfMpisAreNamedOnce) {
  EXPECT_EQ(mpi_launchers(), (Words{"mpirun", "mpirun.openmpi", "mpirun.mpich"}));
}

}  // namespace
}  // namespace muster::engines
