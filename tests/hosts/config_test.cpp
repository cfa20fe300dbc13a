#include "hosts/config.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "hosts/expression.hpp"
#include "hosts/refusal.hpp"

namespace muster::hosts {
namespace {

constexpr std::array kJobKeys = {
    JobKey{.name = "ranks", .flag = "--np"},
    JobKey{.name = "ranks_per_host", .flag = "--nproc-per-node"},
    JobKey{.name = "activate"},
    JobKey{.name = "sync", .form = Form::kYesNo},
    JobKey{.name = "spares"},
    JobKey{.name = "engine_args", .form = Form::kWords},
};

Result<Config> parse(std::string_view text, const std::string& profile = {}) {
  return parse_config({.text = text, .name = "muster.yaml"},
                      {.job_keys = kJobKeys, .profile = profile});
}

// Returns KEY=VALUE for every setting, with the profile that sets it.
std::vector<std::string> settings(const Result<Config>& config) {
  if (!config) return {to_text(config.error())};
  std::vector<std::string> all;
  for (const Setting& one : config->settings) {
    all.push_back(fmt::format("{}={}{}{}", one.key, fmt::join(one.values, " "),
                              one.profile.empty() ? "" : " in ", one.profile));
  }
  return all;
}

// Returns NAME=VALUE for every variable, or NAME if the value comes from muster's environment.
std::vector<std::string> variables(const Result<Config>& config) {
  if (!config) return {to_text(config.error())};
  std::vector<std::string> all;
  for (const Variable& one : config->variables) {
    all.push_back(one.value ? one.name + "=" + *one.value : one.name);
  }
  return all;
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
  EXPECT_EQ(settings(parse("sync: true\nranks: 4\nengine_args: [-a, -b]\n")),
            (std::vector<std::string>{"sync=true", "ranks=4", "engine_args=-a -b"}));
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
            "  hint: known are: hosts, hostfile, user, port, include, exclude, env_file, "
            "environment, ranks, ranks_per_host, activate, sync, spares, engine_args");
  EXPECT_EQ(refusal(parse("nproc_per_node: 4\n")),
            "muster.yaml:1:1: there is no key 'nproc_per_node'\n"
            "  hint: the key for --nproc-per-node is 'ranks_per_host'");
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

constexpr std::string_view kWithProfiles =
    "hosts: n[1-4]\nexclude: n3\nspares: n5\nranks: 2\nsync: true\nenvironment: {A: 1, B: 2}\n"
    "profiles:\n"
    "  big:\n    hosts: m[1-9]\n    ranks_per_host: 8\n    environment: [B=3, C]\n"
    "  small: {sync: false}\n";

TEST(Config, KeysOfAProfileReplaceThoseOfTheFile) {
  EXPECT_EQ(settings(parse(kWithProfiles, "small")),
            (std::vector<std::string>{"hosts=n[1-4]", "exclude=n3", "spares=n5", "ranks=2",
                                      "sync=false in small"}));
  const auto none = parse(kWithProfiles);
  EXPECT_EQ(none->profiles, (std::vector<std::string>{"big", "small"}));
  EXPECT_EQ(none->find("sync")->values, (std::vector<std::string>{"true"}));
  EXPECT_EQ(none->find("sync")->where.line, 5);
}

TEST(Config, WhatWasMeantForOtherHostsAndRanksGoesWithThem) {
  const auto big = parse(kWithProfiles, "big");
  EXPECT_EQ(settings(big), (std::vector<std::string>{"sync=true", "hosts=m[1-9] in big",
                                                     "ranks_per_host=8 in big"}));
  EXPECT_EQ(big->hosts, parse_expression("m[1-9]").value());
  EXPECT_FALSE(big->exclude.has_value());
}

TEST(Config, VariablesOfAProfileAreAdded) {
  EXPECT_EQ(variables(parse(kWithProfiles, "big")),
            (std::vector<std::string>{"A=1", "B=2", "B=3", "C"}));
}

TEST(Config, RefusesAProfileThatIsNotThere) {
  EXPECT_EQ(refusal(parse(kWithProfiles, "bug")),
            "muster.yaml: there is no profile 'bug'\n  hint: did you mean 'big'?");
  EXPECT_EQ(refusal(parse("hosts: a\n", "big")),
            "muster.yaml: there is no profile 'big'\n"
            "  hint: the file has no profiles; they are written below 'profiles:'");
}

TEST(Config, RefusesProfilesThatSayNothing) {
  EXPECT_EQ(refusal(parse("profiles: big\n")),
            "muster.yaml:1:1: 'profiles' names no profile\n"
            "  hint: write the name of a profile in the next line, indented");
  EXPECT_EQ(refusal(parse("profiles:\n  big:\n  small: {ranks: 1}\n")),
            "muster.yaml:2:3: the profile 'big' has no keys\n"
            "  hint: indent the keys of a profile below its name");
  EXPECT_EQ(refusal(parse("profiles:\n  a b: {ranks: 1}\n")),
            "muster.yaml:2:3: this is not the name of a profile\n"
            "  hint: a name consists of letters, digits, '_', '-' and '.'");
  const std::string nested = refusal(parse("profiles:\n  a:\n    profiles: {ranks: 1}\n", "a"));
  EXPECT_EQ(nested.rfind("muster.yaml:3:5: there is no key 'profiles'\n", 0), 0U) << nested;
  EXPECT_EQ(refusal(parse("profiles: {a: {environment: {X: {y: 1}}}}\n", "a")),
            "muster.yaml:1:33: KEY: VALUE is not allowed inside a value here");
}

TEST(Config, ReadsVariablesAsAMapOrAList) {
  const std::vector<std::string> expected = {"NCCL_DEBUG=INFO", "EMPTY=", "HF_TOKEN"};
  EXPECT_EQ(variables(parse("environment:\n  NCCL_DEBUG: INFO\n  EMPTY: ''\n  HF_TOKEN:\n")),
            expected);
  EXPECT_EQ(variables(parse("environment: [NCCL_DEBUG=INFO, EMPTY=, HF_TOKEN]\n")), expected);
  EXPECT_EQ(variables(parse("environment: HF_TOKEN\n")), (std::vector<std::string>{"HF_TOKEN"}));
  EXPECT_EQ(refusal(parse("environment:\n")),
            "muster.yaml:1:1: 'environment' names no variable\n"
            "  hint: write NAME: value in the lines below, or a list of names");
}

TEST(Config, NoMessageShowsAValueOfAVariable) {
  for (const std::string_view text :
       {"environment: [hush=hush, 'a b=hush']\n", "environment: {a-b: hush}\n",
        "environment: {a: \"hush\\0\"}\n", "environment: {a: [hush]}\n"}) {
    const std::string said = refusal(parse(text));
    EXPECT_EQ(said.rfind("muster.yaml:1:", 0), 0U) << said;
    EXPECT_EQ(said.find("hush"), std::string::npos) << said;
  }
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
