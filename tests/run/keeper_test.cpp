// A keeper whose muster was killed: it ends the run within bounded time, whatever the sessions do.
#include "run/keeper.hpp"

#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/fake_host_system.hpp"
#include "sys/file.hpp"

namespace muster::run {
namespace {

constexpr pid_t kEnginePid = 4711;

// The two ends of a session: the host's and the keeper's.
struct Pair {
  sys::Fd host;
  sys::Fd keeper;

  Pair() {
    int ends[2] = {-1, -1};
    (void)::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
    host = sys::Fd(ends[0]);
    keeper = sys::Fd(ends[1]);
  }
  [[nodiscard]] std::string received() const {
    char bytes[4096];
    const ssize_t count = ::read(host.get(), bytes, sizeof bytes);
    return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : "";
  }
  void fill() const {
    const std::string bytes(4096, 'x');
    while (::write(keeper.get(), bytes.data(), bytes.size()) > 0) continue;
  }
};

class KeeperTest : public testing::Test {
 protected:
  // Runs the keeper. `told` is what muster had written to it before it was killed.
  void keep_after(std::string told, std::size_t hosts) {
    for (std::size_t i = pairs_.size(); i < hosts; ++i) pairs_.emplace_back();
    std::vector<SessionEnds> sessions;
    for (const Pair& one : pairs_) sessions.push_back({one.keeper.get(), one.keeper.get()});
    std::FILE* const muster = ::fmemopen(told.data(), told.size(), "r");
    keep(system_, "r1", muster, sessions);
    (void)std::fclose(muster);
  }

  agent::FakeHostSystem system_;
  std::vector<Pair> pairs_;
};

TEST_F(KeeperTest, AnOrderlyEndIsNoneOfItsBusiness) {
  keep_after("engine 4711 7\nquit\n", 3);
  EXPECT_TRUE(system_.signals.empty());
  EXPECT_EQ(pairs_[0].received(), "");
  EXPECT_EQ(system_.elapsed(), 0);
}

TEST_F(KeeperTest, EveryHostIsToldToEndAndTheEngineIsKilled) {
  keep_after("engine 4711 7\n", 3);
  for (const Pair& one : pairs_) {
    const std::string orders = one.received();
    EXPECT_LT(orders.find("\"end\""), orders.find("\"bye\""));
  }
  EXPECT_TRUE(system_.was_sent(kEnginePid, SIGTERM));
  EXPECT_TRUE(system_.was_sent(kEnginePid, SIGKILL));
  EXPECT_LE(system_.elapsed(), 5.1);
}

TEST_F(KeeperTest, ItLeavesAsSoonAsTheSessionsHaveEnded) {
  system_.at(1, [&] {
    for (Pair& one : pairs_) one.host = sys::Fd();
  });
  keep_after("engine 4711 7\n", 3);
  EXPECT_LT(system_.elapsed(), 2);
}

TEST_F(KeeperTest, AnEngineThatMusterDidNotLiveToNameIsFound) {
  system_.at(0.3, [&] { system_.engine = agent::ProcessId{.pid = kEnginePid, .start = 7}; });
  keep_after("", 0);
  EXPECT_TRUE(system_.was_sent(kEnginePid, SIGTERM));
}

TEST_F(KeeperTest, OneWithoutEngineAndSessionsLeaves) {
  keep_after("", 0);
  EXPECT_LT(system_.elapsed(), 2);
}

TEST_F(KeeperTest, AHalfWordOfMusterIsNotBelieved) {
  keep_after("engine 47", 1);
  EXPECT_FALSE(system_.was_sent(47, SIGTERM));
  keep_after("qui", 1);
  EXPECT_NE(pairs_[0].received(), "");
}

TEST_F(KeeperTest, SessionsThatTakeNothingDoNotAddUp) {
  for (int i = 0; i < 100; ++i) {
    pairs_.emplace_back();
    pairs_.back().fill();
  }
  pairs_.emplace_back();  // this session would accept its orders
  keep_after("engine 4711 7\n", 101);
  EXPECT_LE(system_.elapsed(), 5.2);
  EXPECT_TRUE(system_.was_sent(kEnginePid, SIGKILL));
  EXPECT_NE(pairs_.back().received(), "");
}

TEST_F(KeeperTest, AHostThatKeepsTalkingIsNotWaitedForLonger) {
  for (int i = 1; i < 100; ++i) {
    system_.at(i * 0.1, [&] { (void)!::write(pairs_[0].host.get(), "beat\n", 5); });
  }
  keep_after("engine 4711 7\n", 1);
  EXPECT_LE(system_.elapsed(), 5.2);
}

}  // namespace
}  // namespace muster::run
