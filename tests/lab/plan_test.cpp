#include "lab/plan.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace muster::lab {
namespace {

Machine machine_for(int hosts) {
  Machine machine{.passwd = "root:x:0:0::/root:/bin/sh\nsome:x:1000:1000::/h:/bin/sh",
                  .shadow = "root:*:1:0:9:7:::\n",
                  .group = "root:x:0:\nother:x:1001:\n",
                  .password_hash = "$6$hash",
                  .muster = "/bin/muster"};
  for (int i = 0; i <= hosts; ++i) machine.machine_ids.push_back(std::string(32, char('a' + i)));
  return machine;
}

TEST(Plan, TakesAUidThatNobodyHas) {
  const Machine machine = machine_for(1);
  EXPECT_EQ(free_uid(machine.passwd, machine.group), 1002U);
  EXPECT_EQ(free_uid("", ""), 1000U);
  // 1000 is the number of a group here, not a uid.
  EXPECT_EQ(free_uid("a:x:5:1000::/:/bin/sh\n", ""), 1000U);
}

TEST(Plan, TouchesNothingOutsideTheLabsDisk) {
  const Spec spec{.name = "x", .hosts = 2};
  const std::string inside = disk("x") + "/";
  for (const Operation& step : plan_files(spec, machine_for(2))) {
    const std::string text = to_text(step);
    EXPECT_NE(text.find(inside), std::string::npos) << text;
  }
}

TEST(Plan, OnlyTheLauncherLacksTorch) {
  const Spec spec{.hosts = 2, .launcher_lacks = {"/opt/torch"}};
  const auto hides = [&](int host) {
    const std::vector<Operation> plan = plan_root(spec, host);
    return std::any_of(plan.begin(), plan.end(), [](const Operation& step) {
      return to_text(step).find("/opt/torch") != std::string::npos;
    });
  };
  EXPECT_TRUE(hides(0));
  EXPECT_FALSE(hides(1));
}

TEST(Plan, AllHostsHaveMusterAndTheProgramsThatItStarts) {
  Machine machine = machine_for(2);
  machine.programs = {{"/build/bin/muster-bench", "/usr/local/bin/muster-bench"},
                      {"/build/lib/muster/libx.so", "/usr/local/lib/muster/libx.so"}};
  const std::string common = host_folder("default", "common");  // visible to every host
  std::vector<std::string> copies;
  for (const Operation& step : plan_files({.hosts = 2}, machine)) {
    if (const auto* copy = std::get_if<CopyFile>(&step)) copies.push_back(copy->to);
  }
  EXPECT_EQ(copies, (std::vector<std::string>{common + "/usr/local/bin/muster",
                                              common + "/usr/local/bin/muster-bench",
                                              common + "/usr/local/lib/muster/libx.so"}));
}

TEST(Plan, AllHostsButTheLauncherSeeTheRootThatWasAskedFor) {
  const auto shows = [](int host, const std::string& root) {
    const std::vector<Operation> plan = plan_root({.hosts = 1, .root = "/bare"}, host);
    return std::any_of(plan.begin(), plan.end(), [&](const Operation& step) {
      return to_text(step).find(":" + root + ",upperdir=") != std::string::npos;
    });
  };
  EXPECT_TRUE(shows(0, "/"));
  EXPECT_TRUE(shows(1, "/bare"));
}

TEST(Plan, TheUsersFilesAreTheUsersAndSecretsAreNotReadable) {
  const Spec spec{.hosts = 1, .user = "dev", .uid = 1002};
  for (const Operation& step : plan_files(spec, machine_for(1))) {
    if (const auto* file = std::get_if<WriteFile>(&step)) {
      if (file->path.ends_with("/etc/shadow")) {
        EXPECT_EQ(file->mode, 0600U);
        EXPECT_NE(file->content.find("\ndev:$6$hash:"), std::string::npos);
      }
      EXPECT_EQ(file->owner, file->path.find("/home/dev/") == std::string::npos ? 0U : 1002U);
    }
  }
}

TEST(Plan, LaysOneCableANetwork) {
  const Spec spec{.hosts = 1, .nics = 2, .nic_names = {"eth0", "ens5"}};
  const Cable cable{.host = 1, .pid = 42};
  EXPECT_EQ(plan_cables(spec, {&cable, 1}),
            "link add p1 type veth peer name ens5 address 02:00:00:00:00:01 netns 42\n"
            "link set p1 master br0 up\n"
            "link add q1 type veth peer name ens6 address 02:00:00:01:00:01 netns 42\n"
            "link set q1 master br1 up\n");
}

TEST(Plan, WithoutAShareNothingIsShared) {
  const auto binds = [](const Spec& spec) {
    std::vector<std::string> sources;
    for (const Operation& step : plan_root(spec, 1)) {
      const auto* mount = std::get_if<Mount>(&step);
      if (mount != nullptr && mount->type == "bind" && mount->source.rfind("/dev/", 0) != 0) {
        sources.push_back(mount->source);
      }
    }
    return sources;
  };
  EXPECT_EQ(binds({.hosts = 1}).size(), 1U);  // only the host's own boot id
  EXPECT_EQ(binds({.hosts = 1, .shares = {"/data"}}).back(), "/data");
}

TEST(Plan, EachRailHasItsOwnBridgeAndTheLauncherHasNone) {
  const Spec spec{.hosts = 2, .like = "hgx-roce"};
  const Cable cables[] = {{.host = 0, .pid = 10}, {.host = 2, .pid = 12}};
  const std::string lines = plan_cables(spec, cables);
  EXPECT_NE(plan_bridges(spec).find("link add rail9 type bridge"), std::string::npos);
  EXPECT_NE(lines.find("link add r0h2 mtu 9000 type veth peer name enp24s0np0 mtu 9000"),
            std::string::npos);
  EXPECT_NE(lines.find("link set r0h2 master rail0 up"), std::string::npos);
  EXPECT_EQ(lines.find("master rail5"), std::string::npos);  // mlx5_5 has no cable
  EXPECT_EQ(lines.find("r0h0"), std::string::npos);
}

}  // namespace
}  // namespace muster::lab
