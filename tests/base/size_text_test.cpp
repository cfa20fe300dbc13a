#include "base/size_text.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(SizeText, OfMessages) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(8), "8 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1 << 10), "1 KiB");
  EXPECT_EQ(size_text(3 << 9), "1.5 KiB");
  EXPECT_EQ(size_text(3 << 19), "1.5 MiB");
  EXPECT_EQ(size_text(16 << 20), "16 MiB");
  // 1 MiB, rounded down so that three ranks get equal parts.
  EXPECT_EQ(size_text((1 << 20) - 4), "1024 KiB");
  EXPECT_EQ(size_text(std::int64_t{1} << 40), "1 TiB");
  EXPECT_EQ(size_text(std::int64_t{1} << 60), "1024 PiB");
}

TEST(SizeText, OnAnAxis) {
  EXPECT_EQ(short_size(8), "8");
  EXPECT_EQ(short_size(1 << 10), "1K");
  EXPECT_EQ(short_size(3 << 19), "1.5M");
  EXPECT_EQ(short_size(std::int64_t{1} << 30), "1G");
}

TEST(SizeText, OfMemory) {
  EXPECT_EQ(memory_text(0), "0 MiB");
  EXPECT_EQ(memory_text(64 << 20), "64 MiB");
  EXPECT_EQ(memory_text((std::int64_t{1} << 30) - 1), "1024 MiB");
  EXPECT_EQ(memory_text(std::int64_t{1} << 30), "1.0 GiB");
  EXPECT_EQ(memory_text(std::int64_t{16314540} << 10), "15.6 GiB");
}

TEST(SizeText, OfFiles) {
  EXPECT_EQ(file_size_text(0), "0 bytes");
  EXPECT_EQ(file_size_text(999), "999 bytes");
  EXPECT_EQ(file_size_text(1000), "1.0 kB");
  EXPECT_EQ(file_size_text(1'234'567), "1.2 MB");
  EXPECT_EQ(file_size_text(999'949), "999.9 kB");
  EXPECT_EQ(file_size_text(999'950), "1.0 MB");  // not "1000.0 kB"
  EXPECT_EQ(file_size_text(5'000'000'000'000'000), "5000.0 TB");
}

}  // namespace
}  // namespace muster
