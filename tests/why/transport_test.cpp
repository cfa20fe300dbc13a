#include "why/transport.hpp"

#include <climits>

#include <gtest/gtest.h>

#include "verdict_cases.hpp"

namespace muster::why {
namespace {

TEST(ConnectionText, SurvivesHostileNumbers) {
  inspect::Connection hostile{.local = "10.0.0.1",
                              .peer = "10.0.0.2",
                              .peer_port = 29500,
                              .state = "syn-sent",
                              .retransmits = INT_MAX,
                              .since_ack_s = 1e300};
  EXPECT_NE(connection_text({.connection = &hostile, .from = "n1"}).find("tried 2147483648 times"),
            std::string::npos);
  hostile.state = "established";
  hostile.unsent = UINT64_MAX;
  EXPECT_NE(connection_text({.connection = &hostile, .from = "n1"}).find("for years"),
            std::string::npos);

  // The text about a connection to the master is made in a different source file.
  hostile.state = "syn-sent";
  Builder scene = plain(2, -1, "init_process_group").connect(1, hostile);
  scene.scene().master_address = "10.0.0.2";
  scene.scene().master_port = 29500;
  EXPECT_NE(all_of(judge(scene)).find("SYN sent 2147483648 times"), std::string::npos);
}

}  // namespace
}  // namespace muster::why
