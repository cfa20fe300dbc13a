#include "sys/live_line.hpp"

#include <array>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sys/print.hpp"

namespace muster::sys {
namespace {

// During its lifetime, standard error is one end of a terminal or of a pipe.
class CapturedError {
 public:
  explicit CapturedError(bool terminal) : before_(::dup(STDERR_FILENO)) {
    int end = -1;
    if (terminal) {
      ours_ = ::posix_openpt(O_RDWR | O_NOCTTY);
      EXPECT_EQ(::grantpt(ours_) + ::unlockpt(ours_), 0);
      end = ::open(::ptsname(ours_), O_RDWR | O_NOCTTY);  // NOLINT(concurrency-mt-unsafe)
    } else {
      std::array<int, 2> ends = {-1, -1};
      EXPECT_EQ(::pipe(ends.data()), 0);
      ours_ = ends[0];
      end = ends[1];
    }
    ::dup2(end, STDERR_FILENO);
    ::close(end);
  }
  CapturedError(const CapturedError&) = delete;
  CapturedError& operator=(const CapturedError&) = delete;
  ~CapturedError() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(ours_);
  }

  // Returns what was written since the last call.
  [[nodiscard]] std::string read() const {
    std::string text;
    std::array<char, 1024> bytes{};
    pollfd readable = {ours_, POLLIN, 0};
    while (::poll(&readable, 1, 0) == 1) {
      const ssize_t size = ::read(ours_, bytes.data(), bytes.size());
      if (size <= 0) break;
      text.append(bytes.data(), static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  int before_;
  int ours_ = -1;
};

class LiveLineTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("TERM", "xterm", 1); }  // NOLINT(concurrency-mt-unsafe)
};

TEST_F(LiveLineTest, ProgressReplacesItselfAndGivesWayToWhatIsPrinted) {
  const CapturedError error(true);
  Progress progress;
  progress.show("checking the hosts", 0, 2);
  EXPECT_EQ(error.read(), "\r\033[Kchecking the hosts: 0 of 2");
  progress.show("checking the hosts", 2, 2);
  EXPECT_EQ(error.read(), "\r\033[Kchecking the hosts: 2 of 2");
  print_err("muster: done\n");
  EXPECT_EQ(error.read(), "\r\033[Kmuster: done\r\n");
  progress.clear();  // the line is already cleared
  EXPECT_EQ(error.read(), "");
}

TEST_F(LiveLineTest, FitsIntoANarrowTerminal) {
  const CapturedError error(true);
  const winsize narrow{.ws_row = 5, .ws_col = 10, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(STDERR_FILENO, TIOCSWINSZ, &narrow), 0);
  LiveLine line;
  line.show("checking the hosts: 0 of 2");
  EXPECT_EQ(error.read(), "\r\033[Kchecking ");
}

TEST_F(LiveLineTest, IsNotRedrawnForEveryHost) {
  const CapturedError error(true);
  Progress progress;
  for (std::size_t i = 0; i < 10'000; ++i) progress.show("checking the hosts", i, 10'000);
  EXPECT_LT(error.read().size(), 4000U);
}

TEST_F(LiveLineTest, APipeGetsNothing) {
  const CapturedError error(false);
  {
    LiveLine line;
    line.show("checking the hosts: 0 of 2");
  }
  print_err("muster: done\n");
  EXPECT_EQ(error.read(), "muster: done\n");
}

}  // namespace
}  // namespace muster::sys
