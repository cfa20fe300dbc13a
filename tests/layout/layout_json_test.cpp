#include <string>

#include <gtest/gtest.h>

#include "layout/layout.hpp"

namespace muster::layout {
namespace {

Layout full() {
  return {.engine = {.kind = "slurm",
                     .version = "23.11",
                     .major = 23,
                     .launcher = "/usr/bin/srun",
                     .mpi = "openmpi",
                     .pmi = "pmix"},
          .placements = {{.host = "n1",
                          .first_rank = 0,
                          .ranks = 2,
                          .interface = "ib0",
                          .address = "198.18.0.1",
                          .rails = {{.device = "mlx5_0", .port = 2, .gid_index = 3}},
                          .variables = {{"NCCL_IB_GID_INDEX", "3"}},
                          .here = true},
                         {.host = "n2", .first_rank = 2, .ranks = 1}},
          .ranks = 3,
          .subnet = "198.18.0.0/16",
          .launcher_subnet = "10.0.0.0/8",
          .launcher_interface = "eth1",
          .launcher_address = "10.0.0.1",
          .master_address = "198.18.0.1",
          .master_port = 29500,
          .threads = 4,
          .bind_to = "core",
          .map_by = "slot",
          .fabric = Fabric::kRoceIpv4,
          .rdma_given_up = true,
          .oversubscribed = true,
          .why = {"because"}};
}

constexpr const char* kFile =
    R"({"bind_to":"core","engine":{"kind":"slurm","launcher":"/usr/bin/srun","major":23,)"
    R"("mpi":"openmpi","pmi":"pmix","version":"23.11"},"fabric":"roce-ipv4","launcher_address":"10.0.0.1",)"
    R"("launcher_interface":"eth1","launcher_subnet":"10.0.0.0/8","map_by":"slot",)"
    R"("master_address":"198.18.0.1","master_port":29500,"oversubscribed":true,)"
    R"("placements":[{"address":"198.18.0.1","first_rank":0,"here":true,"host":"n1",)"
    R"("interface":"ib0","rails":[{"address":"","device":"mlx5_0","gid_index":3,"interface":"",)"
    R"("network":"","port":2,"rate":""}],"ranks":2,"variables":{"NCCL_IB_GID_INDEX":"3"}},)"
    R"({"address":"","first_rank":2,"here":false,"host":"n2","interface":"","rails":[],)"
    R"("ranks":1,"variables":{}}],"ranks":3,"rdma_given_up":true,"subnet":"198.18.0.0/16","threads":4,)"
    R"("why":["because"]})";

TEST(LayoutJson, IsReadBack) {
  EXPECT_EQ(to_json(full()), kFile);
  const auto read = parse_layout(kFile);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(to_json(*read), kFile);
  EXPECT_TRUE(read->placements.at(1).rails.empty());
  EXPECT_TRUE(parse_layout(to_json(Layout{})));
}

TEST(LayoutJson, RefusesWhatIsNoLayout) {
  const std::string good = kFile;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), std::string(1'000'000, '['),
        good.substr(0, good.size() - 1), with("29500", "\"x\""), with("29500", "99999999999"),
        with("\"because\"", "\"\xff\""), with("[\"because\"]", "null"),
        with("\"gid_index\":3,", ""), with("\"subnet\"", "\"network\"")}) {
    EXPECT_FALSE(parse_layout(text)) << text.substr(0, 100);
  }
  EXPECT_EQ(parse_layout(with("23,", "[],")).error().what,
            "this is not the layout of a run: engine.major is not a whole number");
}

}  // namespace
}  // namespace muster::layout
