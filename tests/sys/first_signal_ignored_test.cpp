#include "sys/first_signal_ignored.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace muster::sys {
namespace {

TEST(FirstSignal, IsIgnored) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto once = [&] {
      const FirstSignalIgnored ignored;
      (void)std::raise(signal);
      std::exit(3);  // NOLINT(concurrency-mt-unsafe)
    };
    EXPECT_EXIT(once(), testing::ExitedWithCode(3), "");
    const auto twice = [&] {
      const FirstSignalIgnored ignored;
      (void)std::raise(signal);
      (void)std::raise(signal);
    };
    EXPECT_EXIT(twice(), testing::KilledBySignal(signal), "");
    const auto afterwards = [&] {
      {
        const FirstSignalIgnored ignored;
      }
      (void)std::raise(signal);
    };
    EXPECT_EXIT(afterwards(), testing::KilledBySignal(signal), "");
  }
}

TEST(FirstSignal, IsReported) {
  const auto once = [] {
    {
      const FirstSignalIgnored ignored;
      (void)std::raise(SIGTERM);
      if (FirstSignalIgnored::came() != SIGTERM) std::exit(1);  // NOLINT(concurrency-mt-unsafe)
    }
    const FirstSignalIgnored again;
    std::exit(FirstSignalIgnored::came() ? 2 : 3);  // NOLINT(concurrency-mt-unsafe)
  };
  EXPECT_EXIT(once(), testing::ExitedWithCode(3), "");
}

TEST(FirstSignal, StaysIgnoredIfAllAre) {
  const auto nohup = [] {
    (void)std::signal(SIGINT, SIG_IGN);
    {
      const FirstSignalIgnored ignored;
      (void)std::raise(SIGINT);
      (void)std::raise(SIGINT);
    }
    (void)std::raise(SIGINT);
    std::exit(3);  // NOLINT(concurrency-mt-unsafe)
  };
  EXPECT_EXIT(nohup(), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace muster::sys
