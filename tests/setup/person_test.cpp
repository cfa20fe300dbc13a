#include "setup/person.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace muster::setup {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLength = 60;

// The password is computed letter by letter, so that the test itself holds no copy of it.
char letter(std::size_t place) {
  return static_cast<char>('A' + (place * 7 + place / 3) % 26);
}

// Compares letters 17 to 28 only, because the allocator overwrites the first bytes of freed memory.
bool is_part_of_the_password(const char* bytes) __attribute__((no_sanitize("address")));
bool is_part_of_the_password(const char* bytes) {
  for (std::size_t i = 0; i < 12; ++i) {
    if (bytes[i] != letter(17 + i)) return false;
  }
  return true;
}

// Counts copies of the password in all writable memory of this process.
int copies_of_the_password() __attribute__((no_sanitize("address")));
int copies_of_the_password() {
  constexpr std::size_t kLargest = std::size_t{64} << 20;  // larger areas belong to a sanitiser
  int copies = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" rw-p ") == std::string::npos) continue;
    std::size_t middle = 0;
    const auto start = std::stoull(line, &middle, 16);
    const auto end = std::stoull(line.substr(middle + 1), nullptr, 16);
    if (end - start > kLargest) continue;
    const char* last = reinterpret_cast<const char*>(end) - 12;
    for (auto at = reinterpret_cast<const char*>(start); at <= last; ++at) {
      if (*at == letter(17) && is_part_of_the_password(at)) ++copies;
    }
  }
  return copies;
}

TEST(TypedLine, IsInMemoryOnceAndNowhereAfterwards) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  for (std::size_t i = 0; i <= kLength; ++i) {
    const char key = i < kLength ? letter(i) : '\n';
    ASSERT_EQ(::write(ends[1], &key, 1), 1);
  }
  std::optional<Secret> line = typed_line(ends[0], Clock::now() + std::chrono::minutes(1));
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->text().size(), kLength);
  EXPECT_EQ(copies_of_the_password(), 1);
  line.reset();
  EXPECT_EQ(copies_of_the_password(), 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

std::optional<std::string> typed(std::string_view keys) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe(ends), 0);
  EXPECT_EQ(::write(ends[1], keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  ::close(ends[1]);
  const auto line = typed_line(ends[0], Clock::now() + std::chrono::minutes(1));
  ::close(ends[0]);
  return line ? std::optional(std::string(line->text())) : std::nullopt;
}

TEST(TypedLine, CanBeCorrectedAndAbandoned) {
  EXPECT_EQ(typed("ab\x7f\bcd\r"), "cd");
  EXPECT_EQ(typed("\x7f\n"), "");
  EXPECT_EQ(typed("ab\x03"), std::nullopt);
  EXPECT_EQ(typed("ab\x04"), std::nullopt);
  EXPECT_EQ(typed("ab"), std::nullopt);
}

}  // namespace
}  // namespace muster::setup
