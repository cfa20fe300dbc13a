#include "setup/password.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sys/file.hpp"
#include "sys/temp_folder.hpp"

namespace muster::setup {
namespace {

class PasswordTest : public sys::FolderTest {
 protected:
  std::string file(std::string_view content, mode_t mode) {
    EXPECT_TRUE(sys::write_file(folder_ + "/pw", content, mode).has_value());
    return folder_ + "/pw";
  }
};

TEST_F(PasswordTest, IsTheFirstLine) {
  EXPECT_EQ(read_password(file("with blank \nsecond\n", 0600)).value().text(), "with blank ");
  EXPECT_EQ(read_password(file("dos\r\n", 0400)).value().text(), "dos");
  EXPECT_EQ(read_password(file("no newline", 0600)).value().text(), "no newline");
}

TEST_F(PasswordTest, AFileThatOthersCanReadIsRefusedAndNotQuoted) {
  for (const mode_t mode : {0640U, 0604U, 0620U}) {
    const auto password = read_password(file("hunter2\n", mode));
    ASSERT_FALSE(password.has_value());
    EXPECT_EQ(password.error().code, ErrorCode::kUsage);
    EXPECT_EQ(to_text(password.error()).find("hunter2"), std::string::npos);
  }
}

TEST_F(PasswordTest, NothingIsNoPassword) {
  EXPECT_FALSE(read_password(file("", 0600)).has_value());
  EXPECT_FALSE(read_password(folder_ + "/none").has_value());
}

}  // namespace
}  // namespace muster::setup
