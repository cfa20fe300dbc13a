#include "inspect/process_texts.hpp"

#include <gtest/gtest.h>

namespace muster::inspect {
namespace {

using namespace std::string_literals;

TEST(ProcessTexts, AddWhatWasReadAndWritten) {
  EXPECT_EQ(parse_io_bytes("rchar: 23904502\nwchar: 33739\nsyscr: 2394\nsyscw: 206\n"
                           "read_bytes: 10280960\nwrite_bytes: 16384\ncancelled_write_bytes: 0\n"),
            23904502 + 33739 + 10280960 + 16384);
  EXPECT_EQ(parse_io_bytes("rchar: -5\nwchar: x\n"), 0);
  EXPECT_EQ(parse_io_bytes("rchar: 9223372036854775807\nwchar: 9223372036854775807\n"),
            std::int64_t{1} << 61);
}

TEST(ProcessTexts, ShortenACommand) {
  EXPECT_EQ(shortened_command("/opt/v/bin/python\0train.py\0--lr\0"
                              "0.1\0"s),
            "python train.py --lr 0.1");
  EXPECT_EQ(shortened_command("python\0-c\0import a\nimport b\0"s), "python -c import a import b");
  EXPECT_EQ(shortened_command("a\0\x1b[2J\0"s), "a ?[2J");
  EXPECT_EQ(shortened_command(""), "");
  const std::string long_one = shortened_command("a\0"s + std::string(5000, 'b'));
  EXPECT_EQ(long_one.size(), 123U);
  EXPECT_TRUE(long_one.ends_with("bbb..."));
}

TEST(ProcessTexts, FindAVariable) {
  const std::string environment = "XPATH=no\0PATH=/a:/b\0EMPTY=\0"s;
  EXPECT_EQ(variable_in(environment, "PATH"), "/a:/b");
  EXPECT_EQ(variable_in(environment, "EMPTY"), "");
  EXPECT_EQ(variable_in(environment, "OTHER"), "");
}

TEST(ProcessTexts, KnowASocket) {
  EXPECT_EQ(socket_inode_of("socket:[73018]"), 73018U);
  for (const char* other : {"pipe:[7]", "socket:[7", "socket:[x]", "/dev/null", ""}) {
    EXPECT_EQ(socket_inode_of(other), 0U) << other;
  }
}

TEST(ProcessTexts, TellWhoHasALock) {
  constexpr const char* kLocks =
      "1: POSIX  ADVISORY  WRITE 19574 fe:00:2148466 0 EOF\n"
      "1: -> POSIX  ADVISORY  WRITE 19656 fe:00:2148466 0 EOF\n"
      "2: FLOCK  ADVISORY  WRITE 19529 fe:00:2148466 0 EOF\n"
      "2: -> FLOCK  ADVISORY  WRITE 19573 fe:00:2148466 0 EOF\n"
      "3: OFDLCK ADVISORY  WRITE -1 fe:00:9 0 EOF\n"
      "3: -> OFDLCK ADVISORY  WRITE 12 fe:00:9 0 EOF\n";
  EXPECT_EQ(lock_holder(kLocks, 19656), 19574);
  EXPECT_EQ(lock_holder(kLocks, 19573), 19529);
  EXPECT_EQ(lock_holder(kLocks, 19529), 0);  // it does not wait for a lock
  EXPECT_EQ(lock_holder(kLocks, 12), 0);     // the kernel does not know the holder
  EXPECT_EQ(lock_holder("", 12), 0);
}

TEST(ProcessTexts, TellTheMainProcess) {
  const NamedProcess shell{.pid = 1, .program = "bash"};
  const NamedProcess clock{.pid = 2, .program = "timeout"};
  const NamedProcess python{.pid = 3, .program = "python3.11"};
  const NamedProcess worker{.pid = 4, .program = "python3.11"};
  const NamedProcess ended{.pid = 5, .program = "python3.11", .ended = true};
  struct {
    std::vector<NamedProcess> tree;
    pid_t wanted;
  } const cases[] = {{{shell, clock, python, worker}, 3},
                     {{python, shell}, 3},
                     {{shell, clock}, 2},
                     {{shell, ended}, 1},
                     {{ended, worker}, 4},
                     {{ended}, 0},
                     {{}, 0}};
  for (const auto& one : cases) EXPECT_EQ(main_process(one.tree), one.wanted);
}

}  // namespace
}  // namespace muster::inspect
