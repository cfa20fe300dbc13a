#include "hosts/config.hpp"

#include <gtest/gtest.h>

#include "hosts/expression.hpp"
#include "hosts/refusal.hpp"

namespace muster::hosts {
namespace {

Result<Config> parse(std::string_view text) {
  return parse_config({.text = text, .name = "muster.yaml"});
}

TEST(Config, ReadsEveryKey) {
  const auto config = parse(
      "hosts: node[01-04]:4,launcher  # all of them\nuser: dev\nport: 2222\n"
      "include: node[01-03]\nexclude: [node01, node02]\n");
  ASSERT_TRUE(config.has_value()) << to_text(config.error());
  EXPECT_EQ(config->hosts, parse_expression("node[01-04]:4,launcher").value());
  EXPECT_EQ(config->user, "dev");
  EXPECT_EQ(config->port, 2222);
  ASSERT_TRUE(config->include.has_value() && config->exclude.has_value());
  EXPECT_EQ(config->include->hosts.size(), 3U);
  EXPECT_EQ(config->exclude->hosts.size(), 2U);
  EXPECT_EQ(parse("hostfile: my hosts.txt\n")->hostfile, "my hosts.txt");
  EXPECT_FALSE(config->sync);
  EXPECT_TRUE(parse("sync: true\n")->sync);
  EXPECT_FALSE(parse("sync: false\n")->sync);
  EXPECT_EQ(refusal(parse("sync: sometimes\n")),
            "muster.yaml:1:7: 'sometimes' is neither true nor false");
}

TEST(Config, ReadsAListOfExpressions) {
  const auto config = parse("hosts:\n  - node[1-2]:4\n  - \"[2001:db8::1]:2\"\n  - node1:1\n");
  ASSERT_TRUE(config.has_value()) << to_text(config.error());
  EXPECT_EQ(config->hosts, parse_expression("node1:5,node2:4,[2001:db8::1]:2").value());
}

TEST(Config, ReadsABlockOfLines) {
  EXPECT_EQ(parse("hosts: |\n  a\n  b:2\n")->hosts, parse_expression("a,b:2").value());
  EXPECT_EQ(refusal(parse("user: dev\nhosts: >\n  a\n  -b\n")),
            "muster.yaml:2:8: a host name cannot start with '-'");
}

TEST(Config, AnEmptyFileSaysNothing) {
  for (const std::string_view text : {"", "\n", "# none\n", "---\n", "{}\n"}) {
    const auto config = parse(text);
    ASSERT_TRUE(config.has_value()) << text << to_text(config.error());
    EXPECT_TRUE(config->hosts.empty());
  }
}

TEST(Config, NamesThePlaceInsideAnExpression) {
  EXPECT_EQ(refusal(parse("user: dev\nhosts: node[1-2],b@c\n")),
            "muster.yaml:2:19: a host list cannot contain user names\n"
            "  hint: pass --user, or set the user of one host in ~/.ssh/config");
  EXPECT_EQ(refusal(parse("hosts:\n  - a\n  - 'b]'\n")),
            "muster.yaml:3:7: ']' without a '[' before it");
  EXPECT_EQ(refusal(parse("\xEF\xBB\xBFhosts: a]\r\n")),
            "muster.yaml:1:9: ']' without a '[' before it");
}

TEST(Config, RefusesUnknownKeysWithTheNearest) {
  EXPECT_EQ(refusal(parse("hosts: a\n  \nhost_file: x\n")),
            "muster.yaml:3:1: there is no key 'host_file'\n  hint: did you mean 'hostfile'?");
  EXPECT_EQ(refusal(parse("zzzzzzzz: 1\n")),
            "muster.yaml:1:1: there is no key 'zzzzzzzz'\n"
            "  hint: known are: hosts, hostfile, user, port, include, exclude, activate, sync");
}

TEST(Config, RefusesAKeyGivenTwice) {
  EXPECT_EQ(refusal(parse("hosts: a\nuser: x\nhosts: b\n")),
            "muster.yaml:3:1: 'hosts' occurs twice; the first time in line 1\n"
            "  hint: keep one of them");
  EXPECT_EQ(refusal(parse("hosts: a\nhostfile: b\n")),
            "muster.yaml:2:1: 'hosts' and 'hostfile' cannot be used together\n"
            "  hint: keep one of them");
}

TEST(Config, RefusesWrongTypes) {
  EXPECT_EQ(refusal(parse("port: ssh\n")),
            "muster.yaml:1:7: 'ssh' is not a port number\n  hint: write a number from 1 to 65535");
  EXPECT_EQ(refusal(parse("port: [22]\n")), "muster.yaml:1:1: 'port' takes one value, not a list");
  EXPECT_EQ(refusal(parse("user:\n")), "muster.yaml:1:1: 'user' takes one value, not none");
  EXPECT_EQ(refusal(parse("user: -oProxyCommand=x\n")),
            "muster.yaml:1:7: '-oProxyCommand=x' is not the name of a user");
  EXPECT_EQ(refusal(parse("hosts:\n")),
            "muster.yaml:1:1: 'hosts' has no value\n"
            "  hint: write a host expression: node[01-16]:4");
  EXPECT_EQ(refusal(parse("hosts: []\n")),
            "muster.yaml:1:1: 'hosts' has no value\n"
            "  hint: write a host expression: node[01-16]:4");
  EXPECT_EQ(refusal(parse("hosts:\n  a: 4\n")),
            "muster.yaml:2:3: KEY: VALUE is not allowed inside a value here");
  EXPECT_EQ(refusal(parse("hosts: [[a]]\n")), "muster.yaml:1:9: a list is not allowed here");
  EXPECT_EQ(refusal(parse("- a\n- b\n")), "muster.yaml:1:1: a list is not allowed here");
  EXPECT_EQ(refusal(parse("node1\n")),
            "muster.yaml:1:1: the file does not consist of KEY: VALUE lines");
  EXPECT_EQ(
      refusal(parse("hosts: a\n---\nhosts: b\n")),
      "muster.yaml:2:1: a second document starts here\n  hint: keep only one document in the file");
}

TEST(Config, RefusesAnchorsSoThatNothingBlowsUp) {
  EXPECT_EQ(refusal(parse("hosts: &a [x, x]\ninclude: [*a, *a]\n")),
            "muster.yaml:1:8: anchors and aliases are not supported\n  hint: write the value out");
}

TEST(Config, RefusesWhatIsNotYaml) {
  const std::string text = refusal(parse("user: dev\nhosts: [a\n"));
  EXPECT_EQ(text.rfind("muster.yaml:3:1: this is not YAML: ", 0), 0U) << text;
  EXPECT_EQ(refusal(parse(std::string(200000, '['))).rfind("muster.yaml:1:", 0), 0U);
}

TEST(Config, EndsWhereTheYamlParserWouldNot) {
  EXPECT_EQ(refusal(parse(",hosts: s\n  a\n  b:2\n")),
            "muster.yaml:1:1: a YAML file cannot begin with this");
}

TEST(Config, ShowsNoHostileByteOfWhatIsNotYaml) {
  const std::string text = refusal(parse("hosts: \"\\\n\x1b[31m\"\n"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(refusal(parse("hosts: \"\\\x1b\"\n")),
            "muster.yaml:1:11: this is not YAML: unknown escape character: ?\n"
            "  hint: quote values that contain brackets or colons: hosts: \"node[01-16]:4\"");
}

TEST(Config, RefusesAFileThatIsTooLong) {
  EXPECT_EQ(refusal(parse(std::string((1 << 20) + 1, '#'))),
            "muster.yaml:1:1: the file is longer than 1048576 bytes\n"
            "  hint: keep long host lists in a file of their own and name it: hostfile: hosts.txt");
}

}  // namespace
}  // namespace muster::hosts
