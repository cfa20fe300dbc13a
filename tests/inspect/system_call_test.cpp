#include "inspect/system_call.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace muster::inspect {
namespace {

struct CallCase {
  const char* text;  // from /proc/PID/syscall, without the stack pointer and the program counter
  Machine machine;
  const char* target;    // what every descriptor refers to
  const char* waits_in;  // the kernel function's name
  const char* words;
};

TEST(SystemCall, IsToldInWords) {
  const CallCase cases[] = {
      {"0 0x3 0x7f00 0x1000 0x0 0x0 0x0", Machine::kX86, "/data/shard-19", "",
       "read of /data/shard-19"},
      {"63 0x3 0x7f00 0x1000 0x0 0x0 0x0", Machine::kArm, "/data/shard-19", "",
       "read of /data/shard-19"},
      {"0 0x3 0x7f00 0x1000 0x0 0x0 0x0", Machine::kX86, "pipe:[77]", "", "read of a pipe"},
      {"45 0x3 0x7f00 0x1000 0x0 0x0 0x0", Machine::kX86, "socket:[7]", "", "read of a socket"},
      {"0 0x0 0x7f00 0x1000 0x0 0x0 0x0", Machine::kX86, "/dev/pts/3", "",
       "read of standard input (/dev/pts/3)"},
      {"0 0x5 0x7f00 0x1000 0x0 0x0 0x0", Machine::kX86, "/dev/tty", "",
       "read of standard input (/dev/tty)"},
      {"0 0x0 0x7f00 0x1000 0x0 0x0 0x0", Machine::kX86, "pipe:[77]", "",
       "read of standard input (a pipe)"},
      {"0 0x3 0x7f00 0x1000 0x0 0x0 0x0", Machine::kX86, "anon_inode:inotify", "",
       "read of inotify"},
      {"0 0x3 0x7f00 0x1000 0x0 0x0 0x0", Machine::kX86, "", "", "read of a file"},
      {"0 0x3 0x7f00 0x1000 0x0 0x0 0x0", Machine::kX86, "/a\x1b[1m", "", "read of /a?[1m"},
      {"0 0xffffffffffffffff 0x0 0x0 0x0 0x0 0x0", Machine::kX86, "", "", "read of a file"},
      {"1 0x1 0x7f00 0x1000 0x0 0x0 0x0", Machine::kX86, "/dev/pts/3", "", "write of /dev/pts/3"},
      {"74 0x4 0x0 0x0 0x0 0x0 0x0", Machine::kX86, "/ckpt/a.pt", "",
       "write of /ckpt/a.pt (fsync)"},
      {"73 0x3 0x2 0x0 0x0 0x0 0x0", Machine::kX86, "/tmp/lock", "", "lock of /tmp/lock"},
      {"72 0x3 0x7 0x7f00 0x0 0x0 0x0", Machine::kX86, "/tmp/lock", "", "lock of /tmp/lock"},
      {"25 0x3 0x26 0x7f00 0x0 0x0 0x0", Machine::kArm, "/tmp/lock", "", "lock of /tmp/lock"},
      {"72 0x3 0x3 0x7f00 0x0 0x0 0x0", Machine::kX86, "/tmp/lock", "", "fcntl on /tmp/lock"},
      {"202 0x3e399e50 0x189 0x0 0x0 0x0 0xffffffff", Machine::kX86, "", "",
       "futex (a lock or a condition)"},
      {"230 0x1 0x1 0x7fff98f789b0 0x0 0x0 0x0", Machine::kX86, "", "", "sleep"},
      {"7 0x0 0x0 0x3e8 0x0 0x0 0x0", Machine::kX86, "", "", "sleep"},
      {"7 0x7f00 0x1 0x3e8 0x0 0x0 0x0", Machine::kX86, "", "", "poll"},
      {"23 0x0 0x0 0x0 0x0 0x7f00 0x0", Machine::kX86, "", "", "sleep"},
      {"23 0x4 0x7f00 0x0 0x0 0x7f00 0x0", Machine::kX86, "", "", "poll (select)"},
      {"232 0x4 0x7f00 0x10 0xffffffff 0x0 0x0", Machine::kX86, "", "", "poll (epoll_wait)"},
      {"22 0x4 0x7f00 0x10 0xffffffff 0x0 0x0", Machine::kArm, "", "", "poll (epoll_wait)"},
      {"61 0xffffffff 0x7f00 0x0 0x0 0x0 0x0", Machine::kX86, "", "", "wait for a child process"},
      {"42 0x3 0x7f00 0x10 0x0 0x0 0x0", Machine::kX86, "", "", "connect"},
      {"288 0x3 0x7f00 0x10 0x0 0x0 0x0", Machine::kX86, "", "", "accept"},
      {"16 0x3 0x4621 0x10 0x0 0x0 0x0", Machine::kX86, "/dev/nvidia0", "",
       "ioctl on /dev/nvidia0"},
      {"219 0x0 0x0 0x0 0x0 0x0 0x0", Machine::kX86, "", "hrtimer_nanosleep", "sleep"},
      {"128 0x0 0x0 0x0 0x0 0x0 0x0", Machine::kArm, "", "do_sys_poll", "poll"},
      {"219 0x0 0x0 0x0 0x0 0x0 0x0", Machine::kX86, "", "", "sleep or poll"},
      {"9999 0x0 0x0 0x0 0x0 0x0 0x0", Machine::kX86, "", "", "system call 9999"},
  };
  for (const CallCase& one : cases) {
    SCOPED_TRACE(one.text);
    const auto call = parse_system_call(std::string(one.text) + " 0x7fff98f78970 0x7f51e0a04545\n");
    ASSERT_TRUE(call);
    const auto target_of = [&](int) { return std::string(one.target); };
    EXPECT_EQ(describe(*call, one.machine, target_of, one.waits_in), one.words);
  }
}

TEST(SystemCall, IsMissingWhereTheThreadRuns) {
  for (const char* text : {"running", "-1 0x7fff98f78970 0x7f51e0a04545", "", "0 3 1 1 1 1 1",
                           "0 0x3", "x 0x0 0x0 0x0 0x0 0x0 0x0"}) {
    EXPECT_FALSE(parse_system_call(text)) << text;
  }
}

TEST(SystemCall, IsGuessedFromThePlaceWithoutPtrace) {
  EXPECT_EQ(describe_place("hrtimer_nanosleep"), "sleep");
  EXPECT_EQ(describe_place("futex_wait_queue"), "futex (a lock or a condition)");
  EXPECT_EQ(describe_place("anon_pipe_read"), "read of a pipe");
  EXPECT_EQ(describe_place("rpc_wait_bit_killable"), "");
}

TEST(SystemCall, TellsWhichCallsAStopInterrupts) {
  const auto no_limit = [](int, int) { return false; };
  EXPECT_TRUE(fails_after_stop({.number = 232}, Machine::kX86, no_limit));
  EXPECT_TRUE(fails_after_stop({.number = 22}, Machine::kArm, no_limit));
  EXPECT_FALSE(fails_after_stop({.number = 202}, Machine::kX86, no_limit));
  EXPECT_FALSE(fails_after_stop({.number = 9999}, Machine::kX86, no_limit));
}

TEST(SystemCall, OnASocketWithATimeLimitAStopInterrupts) {
  const auto receives = [](int fd, int option) { return fd == 7 && option == SO_RCVTIMEO; };
  const auto sends = [](int fd, int option) { return fd == 7 && option == SO_SNDTIMEO; };
  constexpr int kReceiving[] = {0, 19, 43, 45, 47, 288, 299};  // numbers on x86
  for (const int number : kReceiving) {
    EXPECT_TRUE(fails_after_stop({.number = number, .arguments = {7}}, Machine::kX86, receives));
    EXPECT_FALSE(fails_after_stop({.number = number, .arguments = {7}}, Machine::kX86, sends));
    EXPECT_FALSE(fails_after_stop({.number = number, .arguments = {8}}, Machine::kX86, receives));
  }
  constexpr int kSending[] = {1, 20, 42, 44, 46, 307};
  for (const int number : kSending) {
    EXPECT_TRUE(fails_after_stop({.number = number, .arguments = {7}}, Machine::kX86, sends));
    EXPECT_FALSE(fails_after_stop({.number = number, .arguments = {7}}, Machine::kX86, receives));
  }
  const SystemCall limited{.number = 299, .arguments = {8, 0, 0, 0, 1}};
  EXPECT_TRUE(fails_after_stop(limited, Machine::kX86, receives));
}

}  // namespace
}  // namespace muster::inspect
