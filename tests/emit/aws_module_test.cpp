#include "emit/aws_module.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace muster::emit {
namespace {

AwsOptions good() {
  return {.ssh_from = "203.0.113.7", .worker_type = "c7i.2xlarge"};
}

std::string content(const AwsOptions& options, const std::string& path) {
  for (const File& file : aws_files(options)) {
    if (file.path == path) return file.content;
  }
  return "(no such file)";
}

TEST(AwsModule, TheUsersValuesAreInOneFile) {
  AwsOptions options = good();
  options.workers = 3;
  options.placement_group = true;
  const std::string values = content(options, "terraform.tfvars");
  for (const char* line :
       {"ssh_from        = \"203.0.113.7\"\n", "worker_type     = \"c7i.2xlarge\"\n",
        "workers         = 3\n", "placement_group = true\n"}) {
    EXPECT_NE(values.find(line), std::string::npos) << values;
  }
  for (const File& file : aws_files(options)) {
    if (file.path != "terraform.tfvars") {
      EXPECT_EQ(file.content, content(good(), file.path));
    }
  }
}

TEST(AwsModule, EveryInstanceHasAKeyOfItsOwn) {
  AwsOptions options = good();
  options.workers = 2;
  EXPECT_EQ(aws_keys(options), (std::vector<std::string>{"keys/login", "keys/launcher",
                                                         "keys/worker-1", "keys/worker-2"}));
}

TEST(AwsModule, KeysAndStateStayOutOfGit) {
  const std::string ignored = content(good(), ".gitignore");
  for (const char* line : {"keys/\n", "*.tfstate\n", "*.tfstate.*\n", "*.tfplan\n"}) {
    EXPECT_NE(ignored.find(line), std::string::npos) << ignored;
  }
}

TEST(AwsModule, AcceptsWhatPeopleUse) {
  for (const char* type : {"t3.xlarge", "g4dn.xlarge", "p5.48xlarge", "trn1.32xlarge",
                           "u-6tb1.metal", "hpc7a.96xlarge", "c7gn.metal"}) {
    AwsOptions options = good();
    options.worker_type = type;
    EXPECT_TRUE(check(options)) << type;
  }
  AwsOptions trainium = good();
  trainium.worker_type = "trn1.32xlarge";
  trainium.placement_group = true;
  EXPECT_TRUE(check(trainium));
}

std::string said(const AwsOptions& options) {
  const auto checked = check(options);
  return checked ? "(accepted)" : to_text(checked.error());
}

TEST(AwsModule, RefusesAnyWiderDoorThanOneAddress) {
  for (const char* from : {"", "0.0.0.0", "0.0.0.0/0", "203.0.113.0/24", "203.0.113.7/32", "::/0",
                           "example.org", "203.0.113.7\"]"}) {
    AwsOptions options = good();
    options.ssh_from = from;
    EXPECT_NE(said(options).find("is not one IPv4 address"), std::string::npos) << said(options);
  }
}

TEST(AwsModule, RefusesTextThatTerraformWouldReadAsCode) {
  const std::string code = "x\" ${file(\"/etc/passwd\")}";
  std::vector<AwsOptions> bad(6, good());
  bad[0].name = bad[1].region = bad[2].image = bad[3].user = code;
  bad[4].worker_type = bad[5].launcher_type = code + ".large";
  for (const AwsOptions& options : bad) {
    EXPECT_EQ(said(options).find("(accepted)"), std::string::npos);
  }
}

TEST(AwsModule, RefusesABurstableTypeInAPlacementGroup) {
  AwsOptions options = good();
  options.worker_type = "t3.xlarge";
  options.placement_group = true;
  EXPECT_NE(said(options).find("placement group"), std::string::npos) << said(options);
}

}  // namespace
}  // namespace muster::emit
