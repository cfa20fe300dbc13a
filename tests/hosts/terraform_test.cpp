#include "hosts/terraform.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hosts/refusal.hpp"

namespace muster::hosts {
namespace {

const char* const kKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB+/key";

nlohmann::json instance(const char* outside, const char* inside) {
  return {{"public", outside}, {"private", inside}, {"host_key", std::string(kKey) + " muster"}};
}

// Returns outputs in the form that terraform 1.11 prints.
nlohmann::json outputs() {
  return {{"muster",
           {{"sensitive", false},
            {"type", {"object", {{"user", "string"}}}},
            {"value",
             {{"user", "ubuntu"},
              {"launcher", instance("203.0.113.10", "10.77.0.4")},
              {"workers", {instance("203.0.113.11", "10.77.0.5"), instance("", "10.77.0.6")}}}}}}};
}

Result<Instances> parsed(const nlohmann::json& json) {
  return parse_terraform({.text = json.dump(), .name = "out.json"});
}

// Returns the error for outputs that have this value at this place in the output "muster".
std::string refusal_with(const char* place, const nlohmann::json& value) {
  nlohmann::json json = outputs();
  json["muster"]["value"][nlohmann::json::json_pointer(place)] = value;
  return refusal(parsed(json));
}

TEST(Terraform, ReadsTheInstancesInTheirOrder) {
  const auto instances = parsed(outputs());
  ASSERT_TRUE(instances) << to_text(instances.error());
  EXPECT_EQ(instances->user, "ubuntu");
  EXPECT_EQ(instances->launcher.public_address, "203.0.113.10");
  ASSERT_EQ(instances->workers.size(), 2U);
  EXPECT_EQ(instances->workers[0].private_address, "10.77.0.5");
  EXPECT_EQ(instances->workers[1].private_address, "10.77.0.6");
  EXPECT_EQ(instances->workers[1].host_key, kKey);
}

TEST(Terraform, OtherOutputsOfTheModuleDoNotMatter) {
  nlohmann::json json = outputs();
  json["bucket"] = {{"sensitive", true}, {"value", "s3"}};
  EXPECT_TRUE(parsed(json));
}

TEST(Terraform, KnownHostsHaveBothAddresses) {
  const auto instances = parsed(outputs());
  ASSERT_TRUE(instances);
  const std::string key = std::string(" ") + kKey + "\n";
  EXPECT_EQ(known_hosts(*instances),
            "203.0.113.10,10.77.0.4" + key + "203.0.113.11,10.77.0.5" + key + "10.77.0.6" + key);
}

TEST(Terraform, RefusesWhatIsNotItsOutput) {
  for (const char* text :
       {"", "{}", "[]", "null", "{\"muster\": 3}", "{\"muster\": {\"value\": 3}}", "10.77.0.5\n"}) {
    const std::string said = refusal(parse_terraform({.text = text, .name = "out.json"}));
    EXPECT_NE(said.find("out.json: this is not the output of a module"), std::string::npos) << said;
    EXPECT_NE(said.find("terraform output -json | muster hosts"), std::string::npos) << said;
  }
}

TEST(Terraform, RefusesHostileValues) {
  struct Case {
    const char* place;
    nlohmann::json value;
    const char* said;
  };
  const std::vector<Case> cases = {
      {"/workers/0/private", "-oProxyCommand=reboot", "is not an address"},
      {"/workers/0/private", "", "is not an address"},
      {"/workers/0/private", "n[1-3]", "is not an address"},
      {"/workers/0/private", "../../etc", "is not an address"},
      {"/workers/0/public", "10.77.0.5 evil", "is not an address"},
      {"/workers/1/private", "10.77.0.5", "is there twice"},
      {"/workers/0/public", "10.77.0.4", "is there twice"},
      {"/workers/0/private", 5, "is not text"},
      {"/workers", nlohmann::json::array(), "it has no workers"},
      {"/user", "-lroot", "is not a user"},
      {"/launcher/host_key", "ssh-ed25519", "is not a public host key"},
      {"/launcher/host_key", "ssh-ed25519 QUJD", "is not a public host key"},
      {"/launcher/host_key", "ssh-ed25519 AAAA\n* ssh-ed25519 AAAA", "is not a public host key"},
      {"/launcher/host_key", "@cert-authority AAAA", "is not a public host key"},
      {"/launcher/host_key", "-----BEGIN OPENSSH PRIVATE KEY-----", "is not a public host key"},
  };
  for (const Case& one : cases) {
    const std::string said = refusal_with(one.place, one.value);
    EXPECT_NE(said.find(one.said), std::string::npos) << one.place << ": " << said;
  }
}

TEST(Terraform, RefusesMoreWorkersThanTheLimit) {
  const auto refused = parse_terraform({.text = outputs().dump(), .limit = 1});
  EXPECT_NE(refusal(refused).find("more than 1 workers"), std::string::npos) << refusal(refused);
}

}  // namespace
}  // namespace muster::hosts
