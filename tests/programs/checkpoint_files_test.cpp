#include <cstring>
#include <stdexcept>

#include <gtest/gtest.h>

#include "torch/checkpoint_manifest.hpp"
#include "torch/random_state.hpp"

namespace muster {
namespace {

std::string part(const std::string& bytes) {
  const uint64_t size = bytes.size();
  std::string text(sizeof size, '\0');
  std::memcpy(text.data(), &size, sizeof size);
  return text + bytes;
}

TEST(RandomState, IsSplitIntoItsGenerators) {
  EXPECT_EQ(split_random_state(part("cpu") + part("")), (std::vector<std::string>{"cpu", ""}));
}

TEST(RandomState, ThatIsCutOffIsRefused) {
  const std::string whole = part("cpu") + part("device");
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    if (bytes == part("cpu").size()) continue;  // a valid state of a host without a device
    EXPECT_THROW((void)split_random_state(whole.substr(0, bytes)), std::runtime_error) << bytes;
  }
}

// Returns the text with a valid checksum between its parts.
std::string sealed(const std::string& before, const std::string& after) {
  const std::string plain = before + after;
  return before + "\"checksum\":\"" + checksum(plain.data(), plain.size()) + "\"," + after;
}

std::string manifest(const std::string& ranks, const std::string& step) {
  return sealed("{", "\"format\":\"muster-checkpoint\",\"ranks\":" + ranks +
                         ",\"shards\":[],\"step\":" + step + ",\"values\":{},\"version\":1}");
}

TEST(Manifest, OfAnOlderMusterIsRead) {
  EXPECT_EQ(decode_manifest(manifest("2", "7")).step, 7);
}

TEST(Manifest, WithAnImpossibleNumberIsRefused) {
  for (const char* const number : {"-1", "1.5", "1e+300", "4294967296", "true"}) {
    EXPECT_THROW((void)decode_manifest(manifest(number, "7")), std::runtime_error) << number;
  }
  for (const char* const number : {"-1", "1.5", "1e+300", "9223372036854775808", "null"}) {
    EXPECT_THROW((void)decode_manifest(manifest("2", number)), std::runtime_error) << number;
  }
}

TEST(Shard, WithAnImpossibleNumberIsRefused) {
  const std::string after = "\"file\":\"a\",\"header\":\"00\",\"tensors\":{}}";
  EXPECT_EQ(decode_shard(sealed("{\"bytes\":9,", after)).checksums.bytes, 9U);
  for (const char* const number : {"-9", "9.5", "1e+300"}) {
    const std::string before = std::string("{\"bytes\":") + number + ",";
    EXPECT_THROW((void)decode_shard(sealed(before, after)), std::runtime_error) << number;
  }
}

}  // namespace
}  // namespace muster
