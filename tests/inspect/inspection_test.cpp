#include "inspect/inspection.hpp"

#include <gtest/gtest.h>

#include "base/json_fields.hpp"
#include "inspect/inspection_fields.hpp"

namespace muster::inspect {
namespace {

TEST(HostView, KeepsEverythingInJson) {
  const HostView view{
      .time_s = 1.5,
      .window_s = 1,
      .ranks = {{.rank = 3,
                 .pid = 17,
                 .processes = {{.pid = 17, .parent = 1, .command = "python", .state = "S"}},
                 .stacks = {{.source = "py-spy", .python = true, .frames = {{"f", "a.py", 3}}}},
                 .places = {"a.py:3 f"},
                 .recorded = true,
                 .samples = 2,
                 .groups = {{.name = "0", .ranks = {0, 3}, .operations = {{.name = "barrier"}}}},
                 .connections = {{.local = "198.18.0.1", .unsent = 7}},
                 .not_seen = {"no native stack"}}},
      .counters = {{.device = "mlx5_0/1", .name = "symbol_error", .change = 2}},
      .nccl = "one\ntwo"};
  const auto read = parse_fields<HostView>(json_of_fields(view), "cannot read it");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, view);
}

}  // namespace
}  // namespace muster::inspect
