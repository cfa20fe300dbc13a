#include "facts/container.hpp"

#include <gtest/gtest.h>

#include "fake_tree.hpp"

namespace muster::facts {
namespace {

TEST(Container, IsKnownByWhatItsEngineMounts) {
  const auto mounted = [](const std::string& root, const std::string& point) {
    return engine_in_mounts("561 546 0:23 / /proc rw - proc proc rw\n562 546 254:1 " + root + " " +
                            point + " rw,relatime - ext4 /dev/vda1 rw\n");
  };
  EXPECT_EQ(mounted("/var/lib/docker/containers/0a1b/hosts", "/etc/hosts"), "docker");
  EXPECT_EQ(mounted("/var/lib/containers/storage/overlay-containers/0a/userdata/resolv.conf",
                    "/etc/resolv.conf"),
            "podman");
  EXPECT_EQ(mounted("/containers/overlay-containers/0a/userdata/hostname", "/etc/hostname"),
            "podman");
  EXPECT_EQ(mounted("/var/lib/nerdctl/1935db59/etchosts/default/0a/hosts", "/etc/hosts"),
            "containerd");
  EXPECT_EQ(mounted("/var/lib/kubelet/pods/1-2/etc-hosts", "/etc/hosts"), "kubernetes");
  EXPECT_EQ(mounted("/var/lib/docker/containers/0a1b/hosts", "/mnt"), "") << "on the machine";
  EXPECT_EQ(mounted("/srv/lab/n1/etc/hosts", "/etc/hosts"), "");
  EXPECT_EQ(engine_in_mounts(""), "");
  EXPECT_EQ(engine_in_mounts("561 546 0:23 /x"), "");
}

TEST(Container, LacksCapabilitiesOfItsBoundingSet) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(lacking_capabilities("CapEff:\t0000000000000000\nCapBnd:\t00000000a80425fb\n"),
            (Names{"IPC_LOCK", "SYS_NICE", "SYS_PTRACE"}));  // Docker's default set
  EXPECT_EQ(lacking_capabilities("CapBnd:\t000001ffffffffff\n"), Names());
  EXPECT_EQ(lacking_capabilities("CapBnd:\t00000000a88425fb\n"), (Names{"IPC_LOCK", "SYS_PTRACE"}));
  EXPECT_EQ(lacking_capabilities("CapBnd:\tnonsense\n"), Names());
  EXPECT_EQ(lacking_capabilities(""), Names());
}

TEST(Container, OpensADeviceOfVerbsOrNone) {
  FakeTree tree;
  EXPECT_FALSE(may_open_verbs(tree.root() + "/dev/infiniband")) << "no such directory";
  tree.write("dev/infiniband/rdma_cm", "");
  EXPECT_FALSE(may_open_verbs(tree.root() + "/dev/infiniband")) << "rdma_cm alone moves no data";
  tree.write("dev/infiniband/uverbs0", "");
  EXPECT_TRUE(may_open_verbs(tree.root() + "/dev/infiniband"));
}

TEST(Container, OfABundleTellsItsOwner) {
  EXPECT_EQ(bundle_owner("# muster bundle: owner 1000:100\nHost worker1\n"), "1000:100");
  EXPECT_EQ(bundle_owner("# muster bundle: owner 0:0; rm -rf /\n"), "");
  EXPECT_EQ(bundle_owner("Host *\n# muster bundle: owner 1000:100\n"), "");
  EXPECT_EQ(bundle_owner(""), "");
}

}  // namespace
}  // namespace muster::facts
