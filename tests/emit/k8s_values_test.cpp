#include "emit/k8s_values.hpp"

#include <gtest/gtest.h>

namespace muster::emit {
namespace {

TEST(ServiceName, BeginsWithALetter) {
  EXPECT_EQ(refuse_service_name("train-7b"), std::nullopt);
  EXPECT_NE(refuse_service_name("7b-train"), std::nullopt);
  EXPECT_EQ(refuse_label("7b-train"), std::nullopt);
}

TEST(Label, HasSmallLettersDigitsAndDashes) {
  for (const char* bad : {"", "Train", "my_job", "-a", "a-", "a.b", "a b", "\x1b[31m"}) {
    EXPECT_NE(refuse_label(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(refuse_label(std::string(63, 'a')), std::nullopt);
  EXPECT_EQ(refuse_label(std::string(64, 'a')), "it has 64 characters, and Kubernetes allows 63");
}

TEST(Subdomain, IsLabelsWithDots) {
  EXPECT_EQ(refuse_subdomain("a.b-c.d"), std::nullopt);
  for (const char* bad : {"", ".a", "a.", "a..b", "a.B"}) {
    EXPECT_NE(refuse_subdomain(bad), std::nullopt) << bad;
  }
}

TEST(Image, HasARepositoryATagAndADigest) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (const std::string& good :
       {std::string("train"), std::string("train:v1.0_A"), std::string("library/train"),
        std::string("example.org:5000/team/train:latest"), std::string("localhost/train"),
        "example.org/train" + digest, "example.org/train:v1" + digest}) {
    EXPECT_EQ(refuse_image(good), std::nullopt) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("Train"), std::string("team/Train:v1"), std::string("train:"),
        std::string("train:a b"), std::string("a//b"), std::string("/a"), std::string("a/"),
        std::string("a@sha256:12"), std::string("https://example.org/train"), std::string("-a")}) {
    EXPECT_NE(refuse_image(bad), std::nullopt) << bad;
  }
}

TEST(ResourceName, HasADomain) {
  for (const char* good : {"nvidia.com/gpu", "rdma/rdma", "nvidia.com/mig-1g.5gb",
                           "vpc.amazonaws.com/efa", "rdma/hca_shared_devices_a"}) {
    EXPECT_EQ(refuse_resource_name(good), std::nullopt) << good;
  }
  for (const char* bad : {"gpu", "/gpu", "nvidia.com/", "kubernetes.io/gpu", "a.kubernetes.io/gpu",
                          "Nvidia.com/gpu", "nvidia.com/g pu", "nvidia.com/-gpu"}) {
    EXPECT_NE(refuse_resource_name(bad), std::nullopt) << bad;
  }
}

TEST(VariableName, IsNotOneThatTellsThePod) {
  EXPECT_EQ(refuse_variable_name("NCCL_DEBUG"), std::nullopt);
  for (const char* bad : {"", "1A", "A-B", "A B", "RANK", "WORLD_SIZE", "PET_NNODES"}) {
    EXPECT_NE(refuse_variable_name(bad), std::nullopt) << bad;
  }
}

TEST(Networks, AreNamedAsMultusDoes) {
  for (const char* good : {"roce", "kube-system/roce", "a/roce@net1,b/roce@net2"}) {
    EXPECT_EQ(refuse_networks(good), std::nullopt) << good;
  }
  for (const char* bad : {"", "a/", "/a", "roce,", "a b", "roce@", "roce@an-interface-too-long"}) {
    EXPECT_NE(refuse_networks(bad), std::nullopt) << bad;
  }
}

TEST(MountPath, IsAbsolute) {
  EXPECT_EQ(refuse_mount_path("/data"), std::nullopt);
  for (const char* bad : {"", "data", "/", "/a:b", "/a\x01"}) {
    EXPECT_NE(refuse_mount_path(bad), std::nullopt) << bad;
  }
}

TEST(Text, MayHaveLinesAndTabs) {
  EXPECT_EQ(refuse_text("a\n\tb \xc3\xa9"), std::nullopt);
  EXPECT_NE(refuse_text("a\x1b[0m"), std::nullopt);
  EXPECT_NE(refuse_text("\xff"), std::nullopt);
}

}  // namespace
}  // namespace muster::emit
