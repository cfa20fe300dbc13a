#include "run/screen.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include "run/output.hpp"
#include "sys/temp_folder.hpp"

namespace muster::run {
namespace {

using ScreenTest = sys::FolderTest;

// While this exists, standard output and error are a pipe that nobody reads until `drained` is
// called.
class PausedTerminal {
 public:
  PausedTerminal() : out_(::dup(STDOUT_FILENO)), err_(::dup(STDERR_FILENO)) {
    EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
    (void)::dup2(ends_[1], STDOUT_FILENO);
    (void)::dup2(ends_[1], STDERR_FILENO);
    ::close(ends_[1]);
  }
  // Calls `finish` while a thread reads the pipe. Returns the number of bytes written so far.
  std::size_t drained(const std::function<void()>& finish) {
    std::size_t bytes = 0;
    std::thread reader([&] {
      std::array<char, 65536> buffer{};
      for (ssize_t got = 0; (got = ::read(ends_[0], buffer.data(), buffer.size())) > 0;) {
        bytes += static_cast<std::size_t>(got);
      }
    });
    finish();
    (void)::dup2(out_, STDOUT_FILENO);
    (void)::dup2(err_, STDERR_FILENO);
    reader.join();
    for (const int one : {out_, err_, ends_[0]}) ::close(one);
    return bytes;
  }

 private:
  int out_;
  int err_;
  std::array<int, 2> ends_{};
};

TEST_F(ScreenTest, APausedTerminalLosesNothingAndFillsNoMemory) {
  constexpr std::size_t kEach = 200'000;
  PausedTerminal terminal;
  auto screen = std::make_unique<Screen>(folder_);
  for (std::size_t i = 0; i < kEach; ++i) {
    screen->show(sys::Stream::kOut, "o");
    screen->show(sys::Stream::kErr, "e");
  }
  const std::size_t waiting = screen->waiting();
  EXPECT_EQ(terminal.drained([&] { screen = nullptr; }), 2 * kEach);
  EXPECT_LT(waiting, 100'010U);
}

// While this exists, standard error is a terminal with 20 columns.
class SmallTerminal {
 public:
  SmallTerminal() : err_(::dup(STDERR_FILENO)) {
    const winsize size = {.ws_row = 5, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
    int slave = -1;
    EXPECT_EQ(::openpty(&master_, &slave, nullptr, nullptr, &size), 0);
    (void)::dup2(slave, STDERR_FILENO);
    ::close(slave);
  }
  SmallTerminal(const SmallTerminal&) = delete;
  SmallTerminal& operator=(const SmallTerminal&) = delete;
  ~SmallTerminal() {
    (void)::dup2(err_, STDERR_FILENO);
    ::close(err_);
    ::close(master_);
  }
  // Waits until `text` was written, and returns everything written so far.
  const std::string& after(const std::string& text) {
    constexpr int kLongEnough = 60'000;  // ms
    pollfd news = {master_, POLLIN, 0};
    while (written_.find(text) == std::string::npos && ::poll(&news, 1, kLongEnough) == 1) {
      std::array<char, 4096> buffer{};
      const ssize_t got = ::read(master_, buffer.data(), buffer.size());
      written_.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
    return written_;
  }

 private:
  int err_;
  int master_ = -1;
  std::string written_;
};

TEST_F(ScreenTest, TheLineAtTheBottomIsDrawnOver) {
  SmallTerminal terminal;
  auto screen = std::make_unique<Screen>(folder_);
  const std::string first = "\r\x1b[K[n1:0] 50%|abcdefgh\x1b[0m";  // the last column stays free
  screen->set_live(sys::Stream::kErr, "[n1:0] 50%|abcdefghijkl");
  EXPECT_EQ(terminal.after("\x1b[0m"), first);
  screen->show(sys::Stream::kErr, "[n1:1] hello\n");
  const std::string above = first + "\r\x1b[K[n1:1] hello\r\n";
  EXPECT_TRUE(terminal.after("hello\r\n").starts_with(above));
  screen->set_live(sys::Stream::kErr, "[n1:0] 99%");
  EXPECT_TRUE(terminal.after("99%\x1b[0m").ends_with("\r\x1b[K[n1:0] 99%\x1b[0m"));
  screen = nullptr;
  EXPECT_TRUE(terminal.after("99%\x1b[0m\r\x1b[K").ends_with("\r\x1b[K"));
}

TEST_F(ScreenTest, MustersOwnLinesTakeThePlaceOfABar) {
  SmallTerminal terminal;
  const auto output = Output::open(folder_, 1);
  ASSERT_TRUE(output);
  EXPECT_TRUE((*output)->take("n1", {.rank = 0, .stream = sys::Stream::kErr, .bytes = "\r 50%"}));
  (void)terminal.after("50%\x1b[0m");
  (*output)->say("muster: the end\n");
  // The bar may have been drawn again below it.
  const std::string& text = terminal.after("the end\r\n");
  EXPECT_NE(text.find("50%\x1b[0m\r\x1b[Kmuster: the end\r\n"), std::string::npos);
}

// The pace of a flood on a terminal does not hold for the lines that explain a failure.
TEST_F(ScreenTest, TheEndOfTheFailedRankIsShownEvenAfterAFlood) {
  SmallTerminal terminal;
  const auto output = Output::open(folder_, 2);
  ASSERT_TRUE(output);
  std::map<int, std::uint64_t> at;
  const auto print = [&](int rank, const std::string& lines) {
    EXPECT_TRUE((*output)->take(
        "n1", {.rank = rank, .stream = sys::Stream::kErr, .at = at[rank], .bytes = lines}));
    at[rank] += lines.size();
  };
  std::string flood;
  for (int i = 0; i < 60'000; ++i) flood += fmt::format("flood {}\n", i);
  print(1, flood);
  (*output)->a_rank_failed();
  std::string early;
  for (int i = 0; i < 40'000; ++i) early += fmt::format("early {}\n", i);
  print(0, early);
  print(0, fmt::format("long {}\n", std::string(Display::kMostOfAnEnding / 2, 'x')));
  print(0, "Error: the reason\n");
  std::thread shows([&] {
    (*output)->show_held(0);
    (*output)->show_rest();
  });
  const std::string& text = terminal.after("Error: the reason");
  shows.join();
  EXPECT_NE(text.find("Error: the reason"), std::string::npos);
  EXPECT_NE(text.find(" lines not shown here; to see all: muster logs "), std::string::npos);
  EXPECT_EQ(text.find("early 0\r"), std::string::npos);
  EXPECT_NE(text.find("early 39999\r"), std::string::npos);
}

}  // namespace
}  // namespace muster::run
