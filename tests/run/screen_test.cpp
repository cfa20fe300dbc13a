#include "run/screen.hpp"

#include <array>
#include <functional>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sys/temp_folder.hpp"

namespace muster::run {
namespace {

using ScreenTest = sys::FolderTest;

// Standard output and error are a pipe that nobody reads from until `drained` is called.
class PausedTerminal {
 public:
  PausedTerminal() : out_(::dup(STDOUT_FILENO)), err_(::dup(STDERR_FILENO)) {
    EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
    (void)::dup2(ends_[1], STDOUT_FILENO);
    (void)::dup2(ends_[1], STDERR_FILENO);
    ::close(ends_[1]);
  }
  // Everything that `finish` and what came before it wrote.
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

}  // namespace
}  // namespace muster::run
