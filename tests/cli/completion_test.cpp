#include "cli/completion.hpp"

#include <gtest/gtest.h>

#include "cli/run_options.hpp"
#include "trainflags/help.hpp"

namespace muster::cli {
namespace {

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    app_.name("muster");
    CLI::App* run = app_.add_subcommand("run", "Run a program on all hosts");
    run->formatter(trainflags::help_formatter("PROGRAM [ARGUMENTS]"));
    add_run_options(*run, options_);
    CLI::App* logs = app_.add_subcommand("logs", "Show output; of one rank");
    logs->add_option("RUN", word_, "Run id");
    CLI::App* sync = app_.add_subcommand("sync", "Copy a directory");
    sync->add_option("DIRECTORY", word_, "Directory");
    sync->add_option("--back", word_, "Directory here")->type_name("DIR");
    CLI::App* lab = app_.add_subcommand("lab", "Simulate a cluster");
    CLI::App* exec = lab->add_subcommand("exec", "Run a command on a host");
    exec->formatter(trainflags::help_formatter("-- COMMAND"));
    exec->add_option("HOST", word_, "Host");
    CLI::App* man = app_.add_subcommand("man", "Print a man page");
    man->add_option("COMMAND", words_, "Command");
    CLI::App* shell = app_.add_subcommand("shell", "Run a command on all hosts");
    shell->formatter(trainflags::help_formatter("COMMAND"));
    add_cluster_options(*shell, options_.job.cluster);
    shell->add_flag("-i,--interactive", on_, "With your terminal");
  }

  // Completes the last word of the line. A line that ends with a blank asks for a new word.
  [[nodiscard]] Completion at(const std::string& line) const {
    Words words = split(line, ' ');
    if (line.empty() || line.ends_with(' ')) words.emplace_back();
    return complete(app_, words);
  }
  [[nodiscard]] std::string answer(const std::string& line) const { return answer_text(at(line)); }

  CLI::App app_;
  RunOptions options_;
  std::string word_;
  Words words_;
  bool on_ = false;
};

TEST_F(CompletionTest, CommandsWithTheBeginningOfTheirDescriptions) {
  EXPECT_EQ(answer("l"), "words\nlogs\tShow output\nlab\tSimulate a cluster\n");
  EXPECT_EQ(answer("lab "), "words\nexec\tRun a command on a host\n");
  EXPECT_EQ(answer("man l"), answer("l"));
  EXPECT_EQ(answer("man lab "), answer("lab "));
  EXPECT_EQ(answer("nosuch "), "words\n");
}

TEST_F(CompletionTest, Flags) {
  EXPECT_EQ(answer("run --max-r").find("words\n--max-restarts\tRestart the job"), 0U);
  EXPECT_EQ(answer("run -H n1 --detac").find("words\n--detach\t"), 0U);
}

TEST_F(CompletionTest, ValuesThatTheParserKnows) {
  EXPECT_EQ(answer("run --engine m"), "words\nmpich\n");
  EXPECT_EQ(answer("run --engine=m"), "words\n--engine=mpich\n");
}

TEST_F(CompletionTest, ValuesByTheirWordInHelp) {
  struct Row {
    const char* line;
    Wanted wanted;
  };
  constexpr Row kRows[] = {
      {"run -H ", Wanted::kHosts},
      {"run -qH n", Wanted::kHosts},
      {"run --hosts=n", Wanted::kHosts},
      {"run --spares ", Wanted::kHosts},
      {"run -hostfile ", Wanted::kFiles},
      {"run -f ", Wanted::kFiles},
      {"run --again ", Wanted::kRuns},
      {"run -P ", Wanted::kProfiles},
      {"run --profile=b", Wanted::kProfiles},
      {"shell -i -H ", Wanted::kHosts},  // srun's -i takes a value, muster's does not
      {"sync --back ", Wanted::kFolders},
      {"logs ", Wanted::kRuns},
      {"sync ", Wanted::kFolders},
      {"run ", Wanted::kProgram},
      {"run -n 2 tr", Wanted::kProgram},
      {"run -mca a b tr", Wanted::kProgram},
      {"run -d tr", Wanted::kProgram},
      {"run -- tr", Wanted::kProgram},
      {"run train.py --ep", Wanted::kFiles},
      {"run -- train.py -", Wanted::kFiles},
      {"lab exec n1 -- ho", Wanted::kProgram},
      {"run -n ", Wanted::kWords},
      {"logs one ", Wanted::kWords},
      {"lab exec ", Wanted::kWords},  // a lab has hosts of its own
  };
  for (const Row& row : kRows) EXPECT_EQ(at(row.line).wanted, row.wanted) << row.line;
}

TEST_F(CompletionTest, HostsComeFromTheFileOnTheLine) {
  EXPECT_EQ(at("run -f hosts.txt --include ").hostfile, "hosts.txt");
  EXPECT_EQ(at("run --hostfile=hosts.txt --config c.yaml --include ").hostfile, "hosts.txt");
  EXPECT_EQ(at("run --hostfile=hosts.txt --config c.yaml --include ").config, "c.yaml");
  EXPECT_EQ(at("run -P big --include ").profile, "big");
}

TEST_F(CompletionTest, AListOfHostsGrows) {
  Completion line = at("run --hosts=n1:4,n");
  line.candidates = next_in_list(line.typed, {"n1", "n2", "m3"});
  EXPECT_EQ(answer_text(line), "list\n--hosts=n1:4,n2\n");
}

TEST_F(CompletionTest, WordsThatNobodyCanTypeAreLeftOut) {
  Completion line = at("logs ");
  line.candidates = {{.word = "a\tb"}, {.word = "c\nd"}, {.word = "e", .about = "f\ng"}};
  EXPECT_EQ(answer_text(line), "words\ne\tf?g\n");
}

TEST_F(CompletionTest, AnyBeginningOfALineIsAnswered) {
  const std::string line = "run -qH n1,n2 --engine=mpich -mca a b -- sh -c true";
  for (std::size_t size = 0; size <= line.size(); ++size) {
    EXPECT_TRUE(answer(line.substr(0, size)).ends_with('\n'));
  }
}

TEST(CompletionScript, ExistsForThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_NE(completion_script(shell).find("complete 2>/dev/null"), std::string_view::npos);
  }
  EXPECT_EQ(completion_script("csh"), "");
}

}  // namespace
}  // namespace muster::cli
