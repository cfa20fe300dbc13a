#include "remote/local.hpp"

#include <cstdio>

#include <gtest/gtest.h>
#include <unistd.h>

namespace muster::remote {
namespace {

using std::chrono::seconds;

TEST(Local, RunsEachTaskInAShellHere) {
  const std::vector<Task> tasks = {
      {.host = "a", .command = "echo $((40 + 2))"},
      {.host = "b", .command = "cat; exit 3", .input = std::make_shared<const std::string>("in")}};
  const auto outcomes = Local().run(tasks, seconds(20));
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].host, "a");
  EXPECT_EQ(outcomes[0].ended->out, "42\n");
  EXPECT_EQ(outcomes[1].ended->out, "in");
  EXPECT_EQ(outcomes[1].ended->code, 3);
}

TEST(Local, SaysWhenADeadlinePassed) {
  const std::vector<Task> tasks = {{.host = "a", .command = "exec sleep 100"}};
  const auto outcomes = Local().run(tasks, std::chrono::milliseconds(50));
  ASSERT_FALSE(outcomes[0].ended);
  EXPECT_EQ(outcomes[0].ended.error().code, ErrorCode::kTimeout);
}

TEST(Local, ASessionIsSpokenTo) {
  sys::UvLoop loop;
  std::string said;
  int code = -1;
  const auto session =
      Local().open(loop, {.host = "a",
                          .command = "read line; echo got $line; exit 7",
                          .on_output = [&](std::string_view chunk) { said += chunk; },
                          .on_end = [&](const SessionEnd& end) { code = end.ended->code; }});
  session->write("word\n");
  loop.run();
  EXPECT_EQ(said, "got word\n");
  EXPECT_EQ(code, 7);
}

// A run's warden must notice when its launcher is gone, not die with it.
TEST(Local, AnAbandonedCommandGoesOnUntilItNotices) {
  sys::UvLoop loop;
  bool ended = false;
  const std::string mark = testing::TempDir() + "local_test." + std::to_string(::getpid());
  const auto session =
      Local().open(loop, {.host = "a",
                          .command = "cat > /dev/null; echo x > " + mark,
                          .on_output = {},
                          .on_end = [&](const SessionEnd& /*end*/) { ended = true; }});
  session->abandon();
  loop.run();
  EXPECT_FALSE(ended);
  EXPECT_EQ(std::remove(mark.c_str()), 0);
}

}  // namespace
}  // namespace muster::remote
