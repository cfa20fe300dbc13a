#include "sys/hash.hpp"

#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sys/file.hpp"
#include "sys/temp_folder.hpp"

namespace muster::sys {
namespace {

class HashFile : public FolderTest {
 protected:
  std::string write(const std::string& content) {
    const std::string path = folder_ + "/file";
    EXPECT_TRUE(write_file(path, content, 0600));
    return path;
  }
};

// A value from another implementation: hosts with different builds of muster must agree.
TEST(HashText, is_xxh3_with_128_bits) {
  EXPECT_EQ(hash_text(""), "99aa06d3014798d86001c324468d497f");
}

TEST_F(HashFile, agrees_with_the_hash_of_its_text_over_several_blocks) {
  std::string content;
  for (int i = 0; content.size() < 1'000'000; ++i) content += std::to_string(i);
  const auto hash = hash_file(write(content));
  ASSERT_TRUE(hash);
  EXPECT_EQ(*hash, hash_text(content));
  EXPECT_EQ(hash->size(), 32U);
  content[999'000] ^= 1;
  EXPECT_NE(*hash_file(write(content)), *hash);
}

TEST_F(HashFile, of_an_empty_file_is_that_of_the_empty_text) {
  EXPECT_EQ(hash_file(write("")).value(), hash_text(""));
}

TEST_F(HashFile, refuses_what_is_no_regular_file) {
  EXPECT_FALSE(hash_file(folder_));
  EXPECT_FALSE(hash_file(folder_ + "/missing"));
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(hash_file(fifo));  // does not wait for a writer
}

}  // namespace
}  // namespace muster::sys
