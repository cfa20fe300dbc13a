#include "hosts/hostfile.hpp"

#include <gtest/gtest.h>

#include "hosts/expression.hpp"
#include "hosts/refusal.hpp"

namespace muster::hosts {
namespace {

using Hosts = std::vector<Host>;

Result<Hostfile> parse_lines(std::string_view text) {
  return parse_hostfile({.text = text, .name = "hosts.txt"});
}

void expect(std::string_view text, Dialect dialect, const Hosts& hosts) {
  const auto file = parse_lines(text);
  ASSERT_TRUE(file.has_value()) << to_text(file.error());
  EXPECT_EQ(file->hosts, hosts);
  EXPECT_EQ(file->dialect, dialect);
}

TEST(Hostfile, ReadsOpenMpi) {
  expect("# two machines\nnode1 slots=4 max_slots=8\n\nnode2\tslots = 2 max-slots=2 # old\nnode3\n",
         Dialect::kOpenMpi, {{"node1", 4}, {"node2", 2}, {"node3", 0}});
}

TEST(Hostfile, ReadsDeepSpeed) {
  expect("worker-1 slots=4\nworker-2 slots=4\n", Dialect::kOpenMpi,
         {{"worker-1", 4}, {"worker-2", 4}});
}

TEST(Hostfile, ReadsHydra) {
  expect("node1:4\n[2001:db8::1]:2\nnode2\n", Dialect::kHydra,
         {{"node1", 4}, {"2001:db8::1", 2}, {"node2", 0}});
}

TEST(Hostfile, ReadsBareNamesAndAddsRepeatedLinesUp) {
  expect("10.0.0.1\n10.0.0.2\n", Dialect::kBare, {{"10.0.0.1", 0}, {"10.0.0.2", 0}});
  expect("n1\nn1\nn2\nn2\n", Dialect::kBare, {{"n1", 2}, {"n2", 2}});
  expect("fe80::1\n", Dialect::kBare, {{"fe80::1", 0}});
}

TEST(Hostfile, ReadsSlurmRanges) {
  expect("node[08-10]\nlauncher\na,b\n", Dialect::kSlurm,
         {{"node08", 0}, {"node09", 0}, {"node10", 0}, {"launcher", 0}, {"a", 0}, {"b", 0}});
  expect("node[1-2]:4,c:2\n", Dialect::kSlurm, {{"node1", 4}, {"node2", 4}, {"c", 2}});
}

TEST(Hostfile, ReadsWhatOtherSystemsSave) {
  expect("\xEF\xBB\xBFn1 slots=2\r\n\tn2 slots=2\r\n", Dialect::kOpenMpi, {{"n1", 2}, {"n2", 2}});
  expect("n1\nn2", Dialect::kBare, {{"n1", 0}, {"n2", 0}});
  EXPECT_EQ(refusal(parse_lines(std::string_view("\xFF\xFEn\0", 4))),
            "hosts.txt:1:1: the file is UTF-16\n  hint: save it as UTF-8");
}

// Returns the error for a file that mixes formats, without its hint.
std::string mixture(std::string_view text) {
  const std::string said = refusal(parse_lines(text));
  const std::string hint = "\n  hint: write all lines in one format";
  EXPECT_TRUE(said.ends_with(hint)) << said;
  return said.substr(0, said.rfind(hint));
}

TEST(Hostfile, RefusesMixedDialectsNamingBoth) {
  EXPECT_EQ(mixture("n1 slots=4\nn2\nn3:4\n"),
            "hosts.txt:3:3: the file mixes formats: here 'host:n' as for hydra (MPICH, Intel MPI),"
            " in line 1 'slots=' as for Open MPI and DeepSpeed");
  EXPECT_EQ(mixture("n1\nn2:4\nn3 slots=4\n"),
            "hosts.txt:3:4: the file mixes formats: here 'slots=' as for Open MPI and DeepSpeed,"
            " in line 2 'host:n' as for hydra (MPICH, Intel MPI)");
  EXPECT_EQ(mixture("n[1-2]\nn3 slots=4\n"),
            "hosts.txt:2:4: the file mixes formats: here 'slots=' as for Open MPI and DeepSpeed,"
            " in line 1 ranges or lists as for Slurm");
  EXPECT_EQ(mixture("n1:4 slots=4\n"),
            "hosts.txt:1:6: the file mixes formats: here 'slots=' as for Open MPI and DeepSpeed,"
            " in line 1 'host:n' as for hydra (MPICH, Intel MPI)");
  EXPECT_EQ(mixture("a:2\nb,c\n"),
            "hosts.txt:2:3: the file mixes formats: here ranges or lists as for Slurm,"
            " in line 1 'host:n' as for hydra (MPICH, Intel MPI)");
}

TEST(Hostfile, RefusesKeysThatItDoesNotRead) {
  EXPECT_EQ(refusal(parse_lines("n1:4 user=dev\n")),
            "hosts.txt:1:6: a host file cannot set the user\n"
            "  hint: pass --user, or set the user of one host in ~/.ssh/config");
  EXPECT_EQ(refusal(parse_lines("n1:4 binding=user:1\n")),
            "hosts.txt:1:6: a host file cannot set the binding\n"
            "  hint: remove binding=; to pin ranks, pass --bind-to");
  EXPECT_EQ(refusal(parse_lines("a\nn1 slot=4\n")),
            "hosts.txt:2:4: there is no key 'slot'\n  hint: did you mean 'slots'?");
  EXPECT_EQ(refusal(parse_lines("n1 n2\n")),
            "hosts.txt:1:4: expected KEY=VALUE, found 'n2'\n"
            "  hint: write one host per line, as in 'node1 slots=4'");
  EXPECT_EQ(refusal(parse_lines("n1 =4\n")),
            "hosts.txt:1:4: expected KEY=VALUE, found '='\n"
            "  hint: write one host per line, as in 'node1 slots=4'");
}

TEST(Hostfile, RefusesSlotsThatMakeNoSense) {
  EXPECT_EQ(refusal(parse_lines("n1 slots=\n")),
            "hosts.txt:1:10: '' is not a slot count\n  hint: write a number from 1 to 1000000");
  EXPECT_EQ(refusal(parse_lines("n1 slots=2 slots=2\n")), "hosts.txt:1:12: slots twice");
  EXPECT_EQ(refusal(parse_lines("n1 slots=4 max_slots=2\n")),
            "hosts.txt:1:1: slots=4 is more than max_slots=2");
}

TEST(Hostfile, NamesThePlaceOfHostileBytes) {
  EXPECT_EQ(refusal(parse_lines(std::string_view("n1\nn\0002\n", 7))),
            "hosts.txt:2:2: byte 0x00 cannot be in a host name\n"
            "  hint: host names consist of letters, digits, '.', '_' and '-'");
  EXPECT_EQ(refusal(parse_lines("n1\n" + std::string(1 << 20, 'x'))),
            "hosts.txt:2:1: a host name longer than 253 bytes");
  EXPECT_EQ(refusal(parse_lines("# nothing\n")),
            "hosts.txt: the file names no host\n  hint: write one host per line");
  EXPECT_EQ(refusal(parse_hostfile({.text = "n[1-7]\nn[1-7]\n", .name = "f", .limit = 10})),
            "f:2:1: more than 10 hosts");
}

TEST(Hostfile, WritesEveryDialectSoThatItIsReadBack) {
  const Hosts hosts = {{"n2", 4}, {"2001:db8::1", 2}, {"launcher", 0}, {"n10", 4}};
  for (const Dialect dialect : {Dialect::kOpenMpi, Dialect::kHydra, Dialect::kBare}) {
    const std::string text = to_hostfile(hosts, dialect).value();
    expect(text, dialect, hosts);
  }
  EXPECT_EQ(to_hostfile(hosts, Dialect::kHydra).value(),
            "n2:4\n[2001:db8::1]:2\nlauncher\nn10:4\n");
  EXPECT_EQ(to_hostfile(parse_expression("n[08-10]:4,l").value(), Dialect::kSlurm).value(),
            "l,n[08-10]\n");
}

TEST(Hostfile, RefusesABareFileOfEndlessLength) {
  EXPECT_EQ(refusal(to_hostfile({{"a", 1000000}, {"b", 1}}, Dialect::kBare)),
            "a host file without slot counts would need 1000001 lines, one per slot\n"
            "  hint: choose a format with slot counts: --to openmpi or --to hydra");
}

}  // namespace
}  // namespace muster::hosts
