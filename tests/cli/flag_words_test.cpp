#include "cli/flag_words.hpp"

#include <set>

#include <gtest/gtest.h>

#include "cli/run_options.hpp"

namespace muster::cli {
namespace {

TEST(RunFlags, HaveOneMeaningPerSpelling) {
  std::set<std::string> spellings;
  for (const Flag& flag : run_flags()) {
    for (const std::string& name : split(flag.names, ',')) {
      EXPECT_TRUE(spellings.insert(name).second) << name;
    }
    for (const std::string& name : split(flag.foreign, ' ')) {
      EXPECT_TRUE(spellings.insert(name).second) << name;
    }
  }
}

TEST(RunFlags, TheParserAgreesOnWhichOfThemTakeAValue) {
  CLI::App command;
  RunOptions options;
  add_run_options(command, options);
  for (const CLI::Option* option : command.get_options()) {
    if (option == command.get_help_ptr()) continue;
    const Flag* flag = find_flag(option->get_name());
    ASSERT_NE(flag, nullptr) << option->get_name();
    EXPECT_EQ(flag->takes_value(), option->get_items_expected_max() > 0) << flag->names;
    EXPECT_EQ(std::string(long_name(*flag)), option->get_name());
  }
}

TEST(RunFlags, TheHelpOfAgainListsWhatCanBeAdded) {
  const std::string help(find_flag("--again")->help);
  const std::string listed = help.substr(help.find("Only "));
  for (const Flag& flag : run_flags()) {
    const Words names = split(flag.names, ',');
    const bool is_listed = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return listed.find(" " + name + ",") != std::string::npos ||
             listed.find(" " + name + " ") != std::string::npos;
    });
    EXPECT_EQ(is_listed, flag.beside_again) << flag.names;
  }
}

TEST(FlagWords, ValuesOfVariablesAreNotStored) {
  EXPECT_EQ(without_secrets({"run", "-xTOKEN=secret"}), (Words{"run", "-xTOKEN"}));
  EXPECT_EQ(without_secrets({"-x", "A=1=2", "--env", "B=3", "--env=C=4", "-x", "D", "-N=2"}),
            (Words{"-x", "A", "--env", "B", "--env=C", "-x", "D", "-N=2"}));
  EXPECT_EQ(without_secrets({"-qx", "A=1", "-qxB=2", "-x=C=3"}),
            (Words{"-q", "-x", "A", "-q", "-xB", "-x=C"}));
}

TEST(FlagWords, SecretsAreFoundInEverySpelling) {
  EXPECT_EQ(find_secret("-x"), 2U);  // the secret is in the next word
  EXPECT_EQ(find_secret("-qx"), 3U);
  EXPECT_EQ(find_secret("--env"), 5U);
  EXPECT_EQ(find_secret("-xA=1"), 2U);
  EXPECT_EQ(find_secret("-x=A=1"), 3U);
  EXPECT_EQ(find_secret("-qdxA=1"), 4U);
  EXPECT_EQ(find_secret("--env=A=1"), 6U);
  for (const char* other : {"run", "-", "--", "-q", "-nx", "-Hx=1", "--envy=1", "A=1"}) {
    EXPECT_EQ(find_secret(other), std::nullopt) << other;
  }
}

TEST(FlagWords, TheSlurmJobGetsNoFlagsThatAreForSlurmOrForSubmit) {
  const Words words = {
      "-N", "2",  "-o",          "f",           "--dry-run",      "--script=g", "--script",
      "h",  "-q", "--slurm-arg", "--partition", "--slurm-arg=-v", "-x",         "SECRET=hush"};
  EXPECT_EQ(slurm_job_words(words), (Words{"-N", "2", "-q", "-x", "SECRET"}));
}

TEST(FlagWords, WhatIsStoredDoesNotSayHowTheRunIsWatched) {
  EXPECT_EQ(kept_words({"-qd", "--detach", "--dry-run", "-n4", "--timeout=3"}),
            (Words{"-q", "-n4", "--timeout=3"}));
}

TEST(FlagWords, AValueIsNeverTakenForAFlag) {
  const Words words = {"--engine-arg", "--dry-run", "-x", "-d", "--spares", "-o", "-qn", "-d"};
  EXPECT_EQ(kept_words(words),
            (Words{"--engine-arg", "--dry-run", "-x", "-d", "--spares", "-o", "-q", "-n", "-d"}));
}

TEST(FlagWords, WordsOfOtherCommandsStay) {
  EXPECT_EQ(without_secrets({"muster", "bench", "all-reduce", "--max", "1M", "-", "-Zq", "-H"}),
            (Words{"muster", "bench", "all-reduce", "--max", "1M", "-", "-Zq", "-H"}));
}

TEST(FlagWords, FlagsBesideAgainReplaceTheStoredOnes) {
  const Words stored = {"-H", "n1,n2", "--max-restarts", "2", "-x", "A", "--spares=n3"};
  EXPECT_EQ(again_words(stored, {"--again=last"}), stored);
  EXPECT_EQ(again_words(stored, {"--again=last", "--max-restarts=5", "-qd", "--spares", "n4,n5"}),
            (Words{"-H", "n1,n2", "-x", "A", "--max-restarts=5", "-q", "-d", "--spares", "n4,n5"}));
  EXPECT_EQ(again_words({"-qd"}, {"--again=last"}), (Words{"-q"}));  // recorded by an older muster
}

}  // namespace
}  // namespace muster::cli
