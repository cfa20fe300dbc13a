// The connection test on loopback, with real sockets.
#include "agent/reach_test.hpp"

#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "agent/reach_caller.hpp"
#include "agent/reach_listener.hpp"
#include "sys/socket_address.hpp"
#include "sys/tcp.hpp"

namespace muster::agent {
namespace {

using facts::Reached;

const std::string kToken(kTokenBytes, 't');
const std::string kOtherToken(kTokenBytes, 'u');

// An agent that runs test_reach() on its own thread, and the launcher's end of its connection.
class Agent {
 public:
  Agent(const std::string& address, const std::string& token) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    launcher_ = Channel(sys::Fd(ends[0]));
    const Order listen{.kind = Order::Kind::kListen,
                       .endpoints = {{.address = address}, {.address = address}},
                       .token = token};
    thread_ = std::thread([end = ends[1], listen] {
      Channel channel{sys::Fd(end)};
      test_reach(channel, listen);
    });
    ports = receive().ports;
  }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent() { stop(); }

  std::vector<int> ports;

  void send(const Order& order) { launcher_.send(to_line(order)); }
  void connect(std::vector<Target> targets) {
    send({.kind = Order::Kind::kConnect, .targets = std::move(targets)});
  }
  Report receive() {
    while (launcher_.open()) {
      if (const auto message = launcher_.next()) return parse_report(*message).value();
      pollfd watched{launcher_.in(), POLLIN, 0};
      EXPECT_EQ(::poll(&watched, 1, 60'000), 1);
      launcher_.receive();
    }
    return {};
  }
  void stop() {
    launcher_.close();
    await_end();
  }
  void await_end() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  Channel launcher_;
  std::thread thread_;
};

sys::Fd connected_to(int port, const char* address = "127.0.0.1") {
  const auto to = sys::parse_socket_address(address, static_cast<std::uint16_t>(port)).value();
  sys::Fd socket(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(socket.get(), to.pointer(), to.length) == 0 ? std::move(socket) : sys::Fd();
}

// Returns what the other side sends until it closes the connection.
std::string heard(const sys::Fd& socket) {
  std::string all;
  char bytes[256];
  for (ssize_t count = 0; (count = ::recv(socket.get(), bytes, sizeof bytes, 0)) > 0;) {
    all.append(bytes, static_cast<std::size_t>(count));
  }
  return all;
}

Target at(int port, const std::string& token, const char* address = "127.0.0.1") {
  return {.at = {.address = address, .port = port}, .token = token};
}

class ReachEach : public testing::TestWithParam<const char*> {};

TEST_P(ReachEach, HostsReachEachOther) {
  const char* address = GetParam();
  if (!sys::listen_tcp(address, 0)) GTEST_SKIP() << "this machine has no " << address;
  Agent one(address, kToken);
  Agent two(address, kOtherToken);
  ASSERT_EQ(one.ports.size(), 2);
  ASSERT_TRUE(one.ports[0] > 0 && one.ports[1] > 0 && one.ports[0] != one.ports[1]);
  one.connect({at(two.ports[0], kOtherToken, address), at(two.ports[1], kOtherToken, address)});
  two.connect({at(one.ports[0], kToken, address), at(one.ports[1], kToken, address)});
  EXPECT_EQ(one.receive().reached, std::vector(2, Reached::kYes));
  EXPECT_EQ(two.receive().reached, std::vector(2, Reached::kYes));
}

INSTANTIATE_TEST_SUITE_P(Families, ReachEach, testing::Values("127.0.0.1", "::1"));

TEST(Reach, TellsARefusedConnectionAndSomebodyElseBehindIt) {
  Agent one("127.0.0.1", kToken);
  int closed = 0;
  {
    Agent gone("127.0.0.1", kToken);
    closed = gone.ports[0];
  }
  one.connect({at(closed, kToken), at(one.ports[0], kOtherToken), at(one.ports[0], kToken),
               at(1, kToken, "no address")});
  EXPECT_EQ(one.receive().reached,
            (std::vector{Reached::kRefused, Reached::kCutOff, Reached::kYes, Reached::kUntried}));
}

// With a full queue, the kernel drops connection requests, as a firewall does.
TEST(Reach, TellsAConnectionThatNobodyAnswers) {
  const auto full = sys::listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(full && ::listen(full->get(), 0) == 0);
  const int port = sys::port_of(*full);
  const sys::Fd first = connected_to(port);
  Agent one("127.0.0.1", kToken);
  one.connect({at(port, kToken), at(one.ports[0], kToken)});
  EXPECT_EQ(one.receive().reached, (std::vector{Reached::kTimedOut, Reached::kYes}));
}

// The kernel has no route to this address and reports that for each attempt.
TEST(Reach, TellsAnAddressThatTheNetworkRejectsAfterTheSecondTry) {
  const auto begin = ReachCaller::Clock::now();
  ReachCaller caller({at(9, kToken, "255.255.255.255")}, begin);
  const pollfd nothing{.fd = -1, .events = 0, .revents = 0};
  caller.take(&nothing, begin);
  EXPECT_FALSE(caller.over()) << "a route may just be changing";
  caller.take(&nothing, begin + std::chrono::milliseconds(200));
  EXPECT_TRUE(caller.over());
  EXPECT_EQ(caller.reached(), std::vector{Reached::kNoRoute});
}

TEST(Reach, NeedsNoAnswerOfAListenerThatNeverAccepts) {
  const auto silent = sys::listen_tcp("127.0.0.1", 0);
  ASSERT_TRUE(silent);
  Agent one("127.0.0.1", kToken);
  one.connect({at(sys::port_of(*silent), "")});
  EXPECT_EQ(one.receive().reached, std::vector{Reached::kYes});
}

TEST(Reach, ManyTargetsAreAllReached) {
  Agent one("127.0.0.1", kToken);
  one.connect(std::vector(600, at(one.ports[1], kToken)));
  EXPECT_EQ(one.receive().reached, std::vector(600, Reached::kYes));
}

TEST(ReachListener, AnswersNoStranger) {
  Agent one("127.0.0.1", kToken);
  const std::string burst(kBurstBytes, 'x');
  for (const std::string& said :
       {std::string("GET / HTTP/1.1\r\n\r\n"), kOtherToken + burst, kToken + burst + "more"}) {
    const sys::Fd stranger = connected_to(one.ports[0]);
    ASSERT_TRUE(stranger.valid());
    (void)!::send(stranger.get(), said.data(), said.size(), MSG_NOSIGNAL);
    const std::string answer = heard(stranger);
    EXPECT_TRUE(answer.empty() || (answer == kToken && said.starts_with(kToken))) << answer;
  }
  one.connect({at(one.ports[0], kToken)});
  EXPECT_EQ(one.receive().reached, std::vector{Reached::kYes});
}

// Reads what has arrived, as if the time were `now`.
void look(ReachListener& listener, ReachListener::Clock::time_point now) {
  std::vector<pollfd> polled;
  listener.watch(polled);
  (void)::poll(polled.data(), polled.size(), 0);
  listener.take(polled.data(), now);
}

TEST(ReachListener, LetsNobodyBeKeptOutByStrangersWhoSayNothing) {
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  ReachListener listener({{.address = "127.0.0.1"}}, kToken);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  const int port = listener.ports()[0];
  std::vector<sys::Fd> strangers;
  for (int i = 0; i < 40; ++i) strangers.push_back(connected_to(port));
  const sys::Fd caller = connected_to(port);
  const std::string said = kToken + std::string(kBurstBytes, 'x');
  ASSERT_EQ(::send(caller.get(), said.data(), said.size(), MSG_NOSIGNAL), said.size());
  const auto begin = ReachListener::Clock::now();
  const auto is_answered = [&](ReachListener::Clock::time_point now) {
    for (int i = 0; i < 20; ++i) look(listener, now);
    pollfd watched{caller.get(), POLLIN, 0};
    return ::poll(&watched, 1, 0) == 1;
  };
  EXPECT_FALSE(is_answered(begin)) << "there is room for 32";
  EXPECT_TRUE(is_answered(begin + std::chrono::seconds(10)));
}

TEST(ReachListener, ClosesWhenItIsToldToAndWhenTheLauncherIsGone) {
  Agent told("127.0.0.1", kToken);
  const sys::Fd waiting = connected_to(told.ports[0]);
  told.send({.kind = Order::Kind::kClose});
  told.await_end();
  EXPECT_EQ(heard(waiting), "");
  EXPECT_FALSE(connected_to(told.ports[0]).valid());
  Agent left("127.0.0.1", kToken);
  left.stop();
  EXPECT_FALSE(connected_to(left.ports[0]).valid());
}

TEST(ReachListener, SaysWhereItCannotListen) {
  const ReachListener taken({{.address = "127.0.0.1"}}, kToken);
  const ReachListener listener({{.address = "127.0.0.1", .port = taken.ports()[0]},
                                {.address = "192.0.2.1"},
                                {.address = "n1"},
                                {.address = "127.0.0.1"}},
                               kToken);
  const std::vector<int> ports = listener.ports();
  EXPECT_EQ(std::vector(ports.begin(), ports.begin() + 3), (std::vector{0, 0, 0}));
  EXPECT_GT(ports[3], 0);
}

}  // namespace
}  // namespace muster::agent
