#include "launch/batch.hpp"

#include <gtest/gtest.h>

namespace muster::launch {
namespace {

using Hosts = std::vector<hosts::Host>;

TEST(AllocationFlags, AskForWhatTheJobNeeds) {
  EXPECT_EQ(allocation_flags({.program = {}}, Hosts{}, Words{}), Words{});
  EXPECT_EQ(allocation_flags({.program = {}, .ranks_per_host = 8, .nodes = 2}, Hosts{}, Words{}),
            (Words{"--nodes=2", "--ntasks-per-node=8"}));
  EXPECT_EQ(allocation_flags({.program = {}, .nodes = 4, .min_nodes = 2, .elastic = true}, Hosts{},
                             Words{}),
            Words{"--nodes=2-4"});
  EXPECT_EQ(allocation_flags({.program = {}, .ranks = 5, .threads = 4}, Hosts{},
                             Words{"--partition=gpu", "--time=10"}),
            (Words{"--ntasks=5", "--cpus-per-task=4", "--partition=gpu", "--time=10"}));
}

TEST(AllocationFlags, NameTheHostsThatWereNamed) {
  EXPECT_EQ(allocation_flags({.program = {}}, Hosts{{"n1", 2}, {"n2", 2}}, Words{}),
            (Words{"--nodes=2", "--ntasks-per-node=2", "--nodelist=n1,n2"}));
  EXPECT_EQ(allocation_flags({.program = {}, .nodes = 1}, Hosts{{"n1", 2}, {"n2", 1}}, Words{}),
            (Words{"--nodes=1", "--ntasks-per-node=2", "--nodelist=n1"}));
  EXPECT_EQ(allocation_flags({.program = {}}, Hosts{{"n1", 2}, {"n2", 1}}, Words{}),
            (Words{"--nodes=2", "--nodelist=n1,n2"}));
}

TEST(Script, IsForPeopleToRead) {
  EXPECT_EQ(to_script({.name = "train",
                       .output = "muster-train-%j.out",
                       .flags = {"--nodes=2", "--partition=gpu"},
                       .muster = "/my apps/bin/muster",
                       .other_musters = "/my apps/libexec/muster/muster-",
                       .arguments = {"run", "--", "./train", "a b"}}),
            "#!/bin/sh\n"
            "# Written by muster submit.\n"
            "#SBATCH --job-name=train\n"
            "#SBATCH --output=muster-train-%j.out\n"
            "#SBATCH --nodes=2\n"
            "#SBATCH --partition=gpu\n"
            "\n"
            "# Runs on the first host of the job; muster starts the ranks on all of them.\n"
            "muster='/my apps/bin/muster'\n"
            "other='/my apps/libexec/muster/muster-'$(uname -m)\n"
            "if [ -x \"$other\" ]; then muster=$other; fi\n"
            "exec \"$muster\" run -- ./train 'a b'\n");
}

TEST(Script, KeepsTheWordsOfFlagsTogether) {
  const std::string script = to_script({.name = "my run",
                                        .output = "#1.out",
                                        .flags = {R"(--comment=a "b" \c 'd')", "--qos=", ""},
                                        .arguments = {"run", "true"}});
  EXPECT_NE(script.find("\n#SBATCH \"--job-name=my run\"\n"), std::string::npos) << script;
  EXPECT_NE(script.find("\n#SBATCH \"--output=#1.out\"\n"), std::string::npos) << script;
  EXPECT_NE(script.find(R"(#SBATCH "--comment=a \"b\" \\c 'd'")"), std::string::npos) << script;
  EXPECT_NE(script.find("\n#SBATCH --qos=\n#SBATCH \"\"\n"), std::string::npos) << script;
}

}  // namespace
}  // namespace muster::launch
