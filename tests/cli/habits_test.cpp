// kRows has a line per habit, and a test ensures that it has every name in the table of habits.
#include "cli/habits.hpp"

#include <cstdlib>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engines/kind.hpp"

namespace muster::cli {
namespace {

// Some of muster's own flags.
const Flags kOwn = {
    {"--again", true},   {"-H", true},         {"--host", true},     {"--hosts", true},
    {"-w", true},        {"-f", true},         {"--hostfile", true}, {"--machinefile", true},
    {"-n", true},        {"--np", true},       {"--ppn", true},      {"--bind-to", true},
    {"--map-by", true},  {"-x", true},         {"--env", true},      {"--launcher", true},
    {"--timeout", true}, {"-m", false},        {"--module", false},  {"-q", false},
    {"-d", false},       {"--dry-run", false}, {"--engine", true}};

Words words_of(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Reads a command line of `muster run`.
Result<Line> read(const std::string& line) {
  return in_own_words(words_of("run " + line), kOwn);
}

// Returns the flags as muster's own, or "! " and the hint if they are rejected.
std::string understood(const std::string& flags) {
  const auto line = read(flags);
  if (!line) return "! " + line.error().hint;
  return joined(line->words).substr(std::min<std::size_t>(4, joined(line->words).size()));
}

struct Row {
  const char* typed;
  const char* becomes;  // for a rejected flag, "! " and a part of the hint
};

constexpr Row kRows[] = {
    // muster's own flags in other launchers' spellings
    {"-np 4", "--np 4"},
    {"-np=4", "--np=4"},
    {"-n4", "-n4"},
    {"-ppn 2", "--ppn 2"},
    {"-hosts a,b", "--hosts a,b"},
    {"-host a:4", "--host a:4"},
    {"-hostfile h", "--hostfile h"},
    {"-machinefile h", "--machinefile h"},
    {"-bind-to none", "--bind-to none"},
    {"-map-by slot", "--map-by slot"},
    {"-timeout 5", "--timeout 5"},
    {"-qd", "-qd"},
    {"-qn 4", "-qn 4"},
    {"-x -l", "-x -l"},  // a value, whatever it looks like
    // how many ranks, and where
    {"--npernode 2", "--nproc-per-node 2"},
    {"-npernode 2", "--nproc-per-node 2"},
    {"-perhost 2", "--nproc-per-node 2"},
    {"--tasks-per-node=2", "--nproc-per-node 2"},
    {"--num-gpus 2", "--nproc-per-node 2"},
    {"--pernode", "--nproc-per-node 1"},
    {"--num-nodes 2", "--nnodes 2"},
    {"--standalone", "--nnodes 1"},
    {"--nodelist=a,b", "--hosts a,b"},
    {"-hostlist a,b", "--hosts a,b"},
    {"--nodefile h", "--hostfile h"},
    {"-F h", "--hostfile h"},
    {"--nooversubscribe", ""},
    {"--no-oversubscribe", ""},
    {"-c 4", "! as in srun: --threads N"},
    {"--cpus-per-task=4", "--threads 4"},
    {"--cpu-bind=none", "--bind-to none"},
    {"-nolocal", "! leave this machine out of the list"},
    {"--rankfile r", "! --map-by"},
    {"-rf r", "! --map-by"},
    {"-rankmap 0,1", "! --map-by"},
    {"--distribution cyclic", "! --map-by"},
    // the meeting point
    {"--rdzv-backend c10d", ""},
    {"--rdzv-backend static", ""},
    {"--rdzv-backend=etcd", "! muster uses the static rendezvous"},
    {"--rdzv-endpoint n1:29400", "--master-addr n1 --master-port 29400"},
    {"--rdzv-endpoint=n1", "--master-addr n1"},
    {"--rdzv-endpoint [::1]:5", "--master-addr [::1] --master-port 5"},
    {"--rdzv-endpoint fd00::1", "--master-addr fd00::1"},
    {"--rdzv-id 77", ""},
    {"-iface eth1", "! --master-addr"},
    // the environment
    {"-genv SECRET 1", "! -x SECRET=VALUE"},
    {"-env SECRET 1", "! -x SECRET=VALUE"},
    {"-genvlist A,B", "-x A -x B"},
    {"-envlist A", "-x A"},
    {"-genvall", "! -x NAME"},
    {"-envall", "! -x NAME"},
    {"-genvnone", "! -x NAME"},
    {"-envnone", "! -x NAME"},
    {"--export=A,B=1", "-x A -x B=1"},
    {"--export=ALL,B=1", "! -x NAME"},
    {"--export NONE", "! -x NAME"},
    {"-wdir /tmp", "! change to the directory first"},
    {"-wd /tmp", "! change to the directory first"},
    {"--chdir=/tmp", "! change to the directory first"},
    {"-D /tmp", "! change to the directory first"},
    {"--prefix /opt/ompi", "! --launcher DIR/bin/mpirun"},
    // output and input
    {"--tag-output", ""},
    {"-l", ""},
    {"--label", ""},
    {"-prepend-rank", ""},
    {"--unbuffered", ""},
    {"--kill-on-bad-exit", ""},
    {"-K", ""},
    {"--output tag", ""},
    {"--output=job.%t", "! muster logs RUN"},
    {"--tee 3", ""},
    {"--tee 0:1", "! muster logs RUN"},
    {"-t 3", "! for -t of torchrun: --tee 3; for the time limit, as in srun: --timeout 2h"},
    {"--log-dir d", "! muster logs RUN --rank N"},
    {"--redirects 3", "! muster logs RUN"},
    {"-r 3", "! muster logs RUN"},
    {"--output-filename d", "! muster logs RUN"},
    {"-outfile-pattern d", "! muster logs RUN"},
    {"-errfile-pattern d", "! muster logs RUN"},
    {"-o f", "! muster logs RUN"},
    {"-e f", "! muster logs RUN"},
    {"--error=f", "! muster logs RUN"},
    {"--local-ranks-filter 0", "! muster logs --rank N"},
    {"--role trainer", "! leave it out"},
    {"-prepend-pattern %r", "! leave it out"},
    {"--stdin all", "! < FILE"},
    {"--input=f", "! < FILE"},
    {"-i f", "! < FILE"},
    {"-s all", "! < FILE"},
    {"--color never", ""},
    {"--color=always", "! on terminals only"},
    {"-print-rank-map", "! decided: -v"},
    {"--display-map", "! decided: -v"},
    {"--display-allocation", "! decided: -v"},
    {"--report-bindings", "! decided: -v"},
    {"-Q", "--quiet"},
    // already the default, or possible in another way
    {"--allow-run-as-root", ""},
    {"-launcher ssh", ""},
    {"--launcher /opt/mpirun", "--launcher /opt/mpirun"},
    {"-bootstrap ssh", ""},
    {"-bootstrap rsh", "! --engine slurm"},
    {"-launcher-exec rsh", "! ~/.ssh/config"},
    {"-bootstrap-exec rsh", "! ~/.ssh/config"},
    {"-rmk pbs", "! --engine slurm"},
    {"--app f", "! the same program"},
    {"-configfile f", "! the same program"},
    {"--multi-prog f", "! the same program"},
    {"--run-path", "! python3"},
    {"--time=10", "! --timeout 2h"},
    {"--pty", "! muster exec -i -H HOST"},
    {"-p 2222", "-p 2222"},
    {"-p gpu", "! --engine slurm --slurm-arg=--partition=gpu"},
    // flags of one engine; a test below tries those of all engines
    {"--mca btl tcp,self",
     "--engine openmpi --engine-arg=--mca --engine-arg=btl --engine-arg=tcp,self"},
    {"-mca a b", "--engine openmpi --engine-arg=--mca --engine-arg=a --engine-arg=b"},
    {"-mca a_b --c_d", "--engine openmpi --engine-arg=--mca --engine-arg=a_b --engine-arg=--c_d"},
    {"-mca a b --engine openmpi",
     "--engine-arg=--mca --engine-arg=a --engine-arg=b --engine openmpi"},
    {"--engine=openmpi -mca a b",
     "--engine=openmpi --engine-arg=--mca --engine-arg=a --engine-arg=b"},
    {"-mca a b --engine slurm", "! use --engine openmpi"},
    {"--engine=mpich -mca a b", "! leave one of them out"},
    {"--prtemca a b", "--engine openmpi --engine-arg=--prtemca --engine-arg=a --engine-arg=b"},
    {"--pmixmca a b", "--engine openmpi --engine-arg=--pmixmca --engine-arg=a --engine-arg=b"},
    {"--gmca a b", "--engine openmpi --engine-arg=--gmca --engine-arg=a --engine-arg=b"},
    {"--rank-by node", "! --engine openmpi --engine-arg=--rank-by --engine-arg=node"},
    {"--display map", "! --engine openmpi"},
    {"--stream-buffering 1", "! --engine openmpi"},
    {"--use-hwthread-cpus", "! --engine openmpi --engine-arg=--use-hwthread-cpus"},
    {"--enable-recovery", "! --engine openmpi"},
    {"-print-all-exitcodes", "! --engine mpich --engine-arg=-print-all-exitcodes"},
    {"-disable-auto-cleanup", "! --engine mpich"},
    {"-membind x", "! --engine mpich"},
    {"-topolib hwloc", "! --engine mpich"},
    {"-gpus-per-proc 1", "! --engine mpich"},
    {"-usize 4", "! --engine mpich"},
    {"-prot", "! --engine intel"},
    {"-tune f", "! --engine intel"},
    {"-gtool x", "! --engine intel"},
    {"--rdzv-conf=a=1", "! --engine torchrun --engine-arg=--rdzv-conf=a=1"},
    {"--monitor-interval 1", "! --engine torchrun"},
    {"--start-method spawn", "! --engine torchrun"},
    {"--event-log-handler x", "! --engine torchrun"},
    {"--local-addr n1", "! --engine torchrun"},
    {"--logs-specs x", "! --engine torchrun"},
    {"--numa-binding node", "! --engine torchrun"},
    {"--signals-to-handle x", "! --engine torchrun"},
    {"--shutdown-timeout 3", "! --engine torchrun"},
    {"--duplicate-stdout-filters x", "! --engine torchrun"},
    {"--duplicate-stderr-filters x", "! --engine torchrun"},
    {"--virtual-local-rank", "! --engine torchrun --engine-arg=--virtual-local-rank"},
    {"--mpi=pmix", "! --engine slurm --engine-arg=--mpi=pmix"},
    {"--overlap", "! --engine slurm"},
    // for Slurm
    {"--partition=gpu", "! --engine slurm --slurm-arg=--partition=gpu"},
    {"--account a", "! --engine slurm"},
    {"-A a", "! --engine slurm --slurm-arg=-A --slurm-arg=a"},
    {"--qos q", "! --engine slurm"},
    {"--job-name j", "! --engine slurm"},
    {"-J j", "! --engine slurm"},
    {"--gres=gpu:4", "! --engine slurm --slurm-arg=--gres=gpu:4"},
    {"--gpus 4", "! --engine slurm"},
    {"-G 4", "! --engine slurm"},
    {"--gpus-per-node 4", "! --engine slurm"},
    {"--gpus-per-task 1", "! --engine slurm"},
    {"--mem 4G", "! --engine slurm"},
    {"--mem-per-cpu 4G", "! --engine slurm"},
    {"--constraint c", "! --engine slurm"},
    {"-C c", "! --engine slurm"},
    {"--reservation r", "! --engine slurm"},
    {"--jobid 1", "! start muster inside that job"},
    {"--exclusive", "! --engine slurm --slurm-arg=--exclusive"},
};

TEST(Habits, AreReadAsMustersOwnOrRefusedWithTheSpelling) {
  for (const Row& row : kRows) {
    const std::string becomes = row.becomes;
    if (becomes.starts_with("! ")) {
      EXPECT_TRUE(understood(row.typed).starts_with("! ")) << row.typed;
      EXPECT_NE(understood(row.typed).find(becomes.substr(2)), std::string::npos)
          << row.typed << " gives: " << understood(row.typed);
    } else {
      EXPECT_EQ(understood(row.typed), becomes) << row.typed;
    }
  }
}

TEST(Habits, AnEnginesOwnFlagsArePassedToThatEngine) {
  for (const engines::Kind& kind : engines::all()) {
    for (const engines::Flags& flags : kind.flags) {
      for (const std::string& name : words_of(std::string(flags.names))) {
        std::string typed = name;
        for (int i = 0; i < flags.values; ++i) typed += " value";
        const std::string passed = fmt::format("--engine {} --engine-arg={}", kind.word, name);
        const std::string hint = fmt::format("! to pass it to {}: {}", kind.word, passed);
        EXPECT_TRUE(understood(typed).starts_with(flags.passed_on ? passed : hint))
            << understood(typed);
      }
    }
  }
}

TEST(Habits, EveryOneIsTested) {
  std::set<std::string> tested;
  for (const engines::Kind& kind : engines::all()) {  // engine flags are covered by the test above
    for (const engines::Flags& flags : kind.flags) {
      for (const std::string& name : words_of(std::string(flags.names))) tested.insert(name);
    }
  }
  for (const Row& row : kRows) {
    const std::string word = words_of(row.typed).front();
    tested.insert(word.substr(0, word.find('=')));
  }
  for (const Habit& habit : habits()) {
    for (const std::string& name : words_of(std::string(habit.names))) {
      const bool is = tested.contains(name) || tested.contains(name.substr(1));
      EXPECT_TRUE(is) << name;
    }
  }
}

TEST(Habits, NoneHasTwoMeanings) {
  std::set<std::string> names;
  for (const Habit& habit : habits()) {
    for (const std::string& name : words_of(std::string(habit.names))) {
      EXPECT_TRUE(names.insert(name).second) << name;
    }
  }
}

TEST(Habits, AProgramBeginsWithTheFirstWordThatIsNoFlagsOrAfterDashes) {
  struct {
    const char* typed;
    const char* words;
    const char* program;
  } const kLines[] = {
      {"--bind_to core -q -x A=b train.py --some_flag -n 3", "run --bind-to core -q -x A=b",
       "train.py --some_flag -n 3"},
      {"-np 2 -- train.py -q", "run --np 2", "train.py -q"},
      {"-q train.py -- --epochs 3", "run -q", "train.py -- --epochs 3"},
      {"-q -- train.py -- --epochs 3", "run -q", "train.py -- --epochs 3"},
      {"-q train.py --epochs 3 -- -q", "run -q", "train.py --epochs 3 -- -q"},
      {"--pernode train.py --mca", "run --nproc-per-node 1", "train.py --mca"},
      {"-q --", "run -q", ""},
      {"- x", "run", "- x"},
      {"-m package.train -- --epochs 3", "run -m", "package.train --epochs 3"},
      {"-m -- package.train --epochs 3", "run -m", "package.train --epochs 3"},
      {"-m -q package.train --epochs 3", "run -m -q", "package.train --epochs 3"},
      {"-m package.train 3 -- -m", "run -m", "package.train 3 -- -m"},
  };
  for (const auto& one : kLines) {
    const auto line = read(one.typed);
    ASSERT_TRUE(line) << one.typed << ": " << line.error().what;
    EXPECT_EQ(joined(line->words), one.words) << one.typed;
    EXPECT_EQ(joined(line->program), one.program) << one.typed;
  }
}

TEST(Habits, DashesAreNoValue) {
  // The parser reports the missing value.
  EXPECT_EQ(joined(read("-H -- train.py")->words), "run -H");
  EXPECT_EQ(read("--mca btl -- train.py").error().what, "--mca needs 2 values");
}

TEST(Habits, ACommandWithoutThemIsSplitAtTheSamePlace) {
  struct {
    const char* typed;
    const char* words;
    const char* program;
  } const kLines[] = {
      {"-H a,b ls -l", "exec -H a,b", "ls -l"},
      {"-q --timeout 3 -H=a -- ls -- x", "exec -q --timeout 3 -H=a", "ls -- x"},
      {"--hosts a ls -H b", "exec --hosts a", "ls -H b"},
      {"--no-such-flag=3 ls", "exec --no-such-flag=3", "ls"},
      {"-H -- ls", "exec -H", "ls"},
      {"-qH a ls", "exec -qH a", "ls"},
      {"-Ha ls", "exec -Ha", "ls"},
      {"-H", "exec -H", ""},
      {"", "exec", ""},
  };
  for (const auto& one : kLines) {
    const Line line = split_program(words_of(std::string("exec ") + one.typed), kOwn);
    EXPECT_EQ(joined(line.words), one.words) << one.typed;
    EXPECT_EQ(joined(line.program), one.program) << one.typed;
  }
}

TEST(Habits, ArgumentsBeforeTheFlagsStayInFront) {
  const Words words = words_of("bench all-reduce extra -np 4 --bind_to none");
  EXPECT_EQ(leading_arguments(words), 2U);
  EXPECT_EQ(joined(in_own_words_after(2, words, kOwn)->words),
            "bench all-reduce extra --np 4 --bind-to none");
  EXPECT_EQ(leading_arguments({"bench"}), 0U);
  EXPECT_EQ(leading_arguments(words_of("bench -H a")), 0U);
  EXPECT_EQ(joined(in_own_words_after(0, {"bench"}, kOwn)->words), "bench");
}

TEST(Habits, HelpIsAskedForRightAfterTheCommand) {
  EXPECT_TRUE(asks_for_help({"train"}));
  EXPECT_TRUE(asks_for_help({"train", "-h"}));
  EXPECT_FALSE(asks_for_help({"train", "mnist", "--help"}));
}

TEST(Habits, ACommandThatTakesWordsIsSplitAtDashesOnly) {
  const Line line = split_at_dashes(words_of("lab exec --some_flag n1 -- ls --some_flag"));
  EXPECT_EQ(joined(line.words), "lab exec --some-flag n1");
  EXPECT_EQ(joined(line.program), "ls --some_flag");
  EXPECT_TRUE(split_at_dashes({}).words.empty());
}

TEST(Habits, TheRunToStartAgainMayBeLeftUnnamed) {
  EXPECT_EQ(understood("--again"), "--again=last");
  EXPECT_EQ(understood("--again 2026"), "--again=2026");
  EXPECT_EQ(understood("--again -q"), "--again=last -q");
}

TEST(Habits, ColourNeverIsNoColor) {
  (void)::unsetenv("NO_COLOR");
  EXPECT_EQ(understood("--color auto"), "");
  EXPECT_EQ(std::getenv("NO_COLOR"), nullptr);
  EXPECT_EQ(understood("--color never"), "");
  EXPECT_STREQ(std::getenv("NO_COLOR"), "1");
}

TEST(Habits, WhatIsUnknownOrIncompleteIsSaid) {
  EXPECT_EQ(read("--no-such-flag=3").error().what, "muster run has no flag --no-such-flag");
  EXPECT_NE(read("--no-such-flag=3").error().hint.find("--engine-arg=--no-such-flag=3"),
            std::string::npos);
  EXPECT_EQ(read("--mca btl").error().what, "--mca needs 2 values");
  EXPECT_EQ(read("--label=3").error().what, "--label takes no value");
  EXPECT_EQ(in_own_words(words_of("train -q more"), kOwn).error().what,
            "muster train does not take the argument 'more'");
}

}  // namespace
}  // namespace muster::cli
