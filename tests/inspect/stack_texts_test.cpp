#include "inspect/stack_texts.hpp"

#include <gtest/gtest.h>

namespace muster::inspect {
namespace {

// From py-spy 0.4.3, with some members omitted.
constexpr const char* kPyspy = R"([
  {"pid": 10493, "thread_id": 1, "thread_name": "Thread-1", "os_thread_id": 10500, "active": false,
   "frames": [{"name": "wait", "filename": "/usr/lib/python3.11/threading.py", "line": 5}]},
  {"pid": 10493, "thread_id": 139935549297344, "thread_name": "MainThread", "os_thread_id": 10493,
   "active": false, "owns_gil": false, "frames": [
      {"name": "all_reduce", "filename": "/opt/t/lib/python3.11/site-packages/torch/d.py",
       "module": null, "short_filename": "torch/d.py", "line": 3252, "locals": null},
      {"name": "_exception_logger.<locals>.wrapper",
       "filename": "/opt/t/lib/python3.11/site-packages/torch/c10d_logger.py", "line": 83},
      {"name": "<module>", "filename": "/tmp/itry/t.py", "short_filename": "t.py", "line": 16}],
   "process_info": null}])";

TEST(Pyspy, GivesTheMainThread) {
  const auto frames = parse_pyspy(kPyspy, 10493);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0],
            (Frame{"all_reduce", "/opt/t/lib/python3.11/site-packages/torch/d.py", 3252}));
  EXPECT_EQ(users_place(frames), "t.py:16 <module>");
  EXPECT_TRUE(parse_pyspy(kPyspy, 1).empty());
  for (const char* text : {"", "{}", "[1]", R"([{"os_thread_id":1,"frames":7}])"}) {
    EXPECT_TRUE(parse_pyspy(text, 1).empty()) << text;
  }
}

// From PyTorch's handler dump_traceback.
constexpr const char* kTraceback =
    R"(Current thread 0x00007f45266276c0 (most recent call first):
  <no Python frame>

Thread 0x00007f4541111111 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 324 in wait

Thread 0x00007f4548b512c0 (most recent call first):
  File "/opt/t/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3252 in all_reduce
  File "/tmp/a", line 7 in b/t.py", line 16 in <module>
  File "???", line ??? in ???
)";

TEST(Faulthandler, GivesTheLastThread) {
  const auto frames = parse_faulthandler(kTraceback);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].function, "all_reduce");
  EXPECT_EQ(frames[0].line, 3252);
  EXPECT_EQ(frames[1], (Frame{"<module>", R"(/tmp/a", line 7 in b/t.py)", 16}));
  EXPECT_EQ(frames[2], (Frame{"???", "???", 0}));
  EXPECT_EQ(users_place(frames), "t.py:16 <module>");
  EXPECT_TRUE(parse_faulthandler("").empty());
  // The main thread, which comes last, is not in Python code.
  EXPECT_TRUE(parse_faulthandler("Thread 0x1 (most recent call first):\n  File \"a\", line 1 in b\n"
                                 "Thread 0x2 (most recent call first):\n  <no Python frame>\n")
                  .empty());
}

TEST(EuStack, GivesTheFrames) {
  const auto frames = parse_eu_stack(
      "PID 10493 - process\nTID 10493:\n"
      "#0  0x00007f4548bd7f16 __futex_abstimed_wait_common\n"
      "#1  0x00007f4548bda5d8 pthread_cond_wait@@GLIBC_2.3.2\n"
      "#2  0x00007f453856984b c10d::Work::wait(std::chrono::duration<long, std::ratio<1l, 1000l> "
      ">)\n"
      "#3  0x000000000053ad87\n"
      "#4  0x0000000000627bd1 _start\n"
      "eu-stack: tid 10493: shown max number of frames (5, use -n 0 for unlimited)\n");
  ASSERT_EQ(frames.size(), 5U);
  EXPECT_EQ(frames[0].function, "__futex_abstimed_wait_common");
  EXPECT_EQ(frames[1].function, "pthread_cond_wait");
  EXPECT_EQ(frames[2].function, "c10d::Work::wait");
  EXPECT_EQ(frames[3].function, "?");
  EXPECT_EQ(frames[4].function, "_start");
}

TEST(EuStack, ShortensFunctions) {
  struct {
    const char* demangled;
    const char* wanted;
  } const cases[] = {
      {"read", "read"},
      {"void foo<int, std::pair<int, int> >(int)", "foo"},
      {"gloo::transport::tcp::Buffer::waitRecv() const", "gloo::transport::tcp::Buffer::waitRecv"},
      {"(anonymous namespace)::f(int)", "{anonymous}::f"},
      {"a::f(int)::{lambda(int, b<c>)#1}::operator()(int) const", "a::f::{lambda#1}::operator()"},
      {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<<"},
      {"bool a::operator<(a const&) const", "a::operator<"},
      {"a::operator->() const", "a::operator->"},
      {"f(int (*)(long), char [654])::g<h>(i)", "f::g"},
      {"f<(1>2)>()", "f"},
      {"f<(1<2)>()", "f"},
      {"f<(1<<2>()>", "f"},
      {"f [clone .isra.0]", "f"},
      {"<<<((", "?"},
      {"a\x1b[2J", "a?[2J"},
  };
  for (const auto& one : cases) EXPECT_EQ(short_function(one.demangled), one.wanted);
  EXPECT_EQ(short_function(std::string(5000, 'f')).size(), 120U);
}

TEST(UsersPlace, IsOutsideOfLibraries) {
  EXPECT_EQ(users_place({}), "");
  const std::vector<Frame> frames = {{"poll", "/usr/lib/python3.11/selectors.py", 415},
                                     {"run", "<frozen runpy>", 5},
                                     {"load", "/usr/lib/python3/dist-packages/numpy/a.py", 4},
                                     {"load_shard", "/home/u/train.py", 57},
                                     {"main", "/home/u/train.py", 99}};
  EXPECT_EQ(users_place(frames), "train.py:57 load_shard");
  // The user's code may come from `python -c`. If the search path is relative, the paths of
  // libraries have no leading folder.
  EXPECT_EQ(
      users_place(std::vector<Frame>{
          {"wait", "threading.py", 3}, {"sum", "numpy/core.py", 9}, {"<module>", "<string>", 2}}),
      "<string>:2 <module>");
}

}  // namespace
}  // namespace muster::inspect
