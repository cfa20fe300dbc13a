#include "cli/config_keys.hpp"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/flag_words.hpp"
#include "cli/passed_variables.hpp"
#include "cli/run_options.hpp"

namespace muster::cli {
namespace {

TEST(ConfigKeys, EachHasAFlagOfRunByItsFullName) {
  CLI::App command;
  RunOptions options;
  add_run_options(command, options);
  std::set<std::string_view> names;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    ASSERT_NE(find_flag(key.flag), nullptr) << key.flag;
    EXPECT_EQ(long_name(*find_flag(key.flag)), key.flag);
    EXPECT_NE(command.get_option_no_throw(std::string(key.flag)), nullptr) << key.flag;
    EXPECT_EQ(key.type == KeyType::kYesNo, !find_flag(key.flag)->takes_value()) << key.name;
    EXPECT_TRUE(key.off_flag.empty() || find_flag(key.off_flag) != nullptr) << key.off_flag;
  }
}

TEST(ConfigKeys, TheSchemaHasAllOfThem) {
  const auto schema = nlohmann::json::parse(config_schema());
  for (const auto* where : {&schema, &schema.at("$defs").at("profile")}) {
    for (const ConfigKey& key : config_keys()) {
      EXPECT_TRUE(where->at("properties").contains(std::string(key.name))) << key.name;
    }
    EXPECT_FALSE(where->at("additionalProperties"));
  }
}

TEST(PassedVariables, HarmlessNamesArePassed) {
  for (const char* name :
       {"NCCL_DEBUG", "NCCL_IB_TIMEOUT", "WANDB_PROJECT", "PYTORCH_CUDA_ALLOC_CONF",
        "OMP_NUM_THREADS", "FI_PROVIDER", "UCX_TLS"}) {
    EXPECT_TRUE(is_always_passed(name)) << name;
  }
}

TEST(PassedVariables, NamesOfPathsDevicesInterfacesAndSecretsAreNot) {
  for (const char* name : {"HF_HOME",
                           "CUDA_HOME",
                           "TORCH_HOME",
                           "TORCH_TRACE",
                           "NCCL_TOPO_FILE",
                           "NCCL_DEBUG_FILE",
                           "NCCL_NET_PLUGIN",
                           "CUDA_VISIBLE_DEVICES",
                           "UCX_NET_DEVICES",
                           "NCCL_IB_HCA",
                           "NCCL_SOCKET_IFNAME",
                           "GLOO_SOCKET_IFNAME",
                           "FI_TCP_IFACE",
                           "CCL_KVS_IFACE",
                           "NCCL_COMM_ID",
                           "OMP_PLACES",
                           "WANDB_API_KEY",
                           "WANDB_DIR",
                           "HF_TOKEN",
                           "PATH",
                           "LD_PRELOAD",
                           ""}) {
    EXPECT_FALSE(is_always_passed(name)) << name;
  }
  // Also covers entries that are added to the list later.
  for (const std::string_view listed : always_passed()) {
    const std::string name = std::string(listed) + "_";
    for (const char* part : {"IFNAME", "IFACE", "_HCA", "_DEVICES", "_PATH", "_DIR_", "_FILE",
                             "_HOME", "_ROOT", "TOKEN", "KEY", "SECRET", "PASSWORD", "_ADDR_RANGE",
                             "PLUGIN", "_URI", "_URL", "AFFINITY_LIST", "PRELOAD"}) {
      const bool tokenizers = listed == "TOKENIZERS_PARALLELISM";
      EXPECT_TRUE(tokenizers || name.find(part) == std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace muster::cli
