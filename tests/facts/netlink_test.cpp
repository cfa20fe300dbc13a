#include "facts/netlink.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace muster::facts {
namespace {

using std::string_literals::operator""s;

TEST(Attributes, are_padded_to_four_bytes) {
  const std::string bytes = "\x05\0\x03\0x\0\0\0\x08\0\x04\0\x01\0\0\0"s;
  const auto attributes = parse_attributes(bytes);
  EXPECT_EQ(attributes.size(), 2U);
  EXPECT_EQ(bytes_of(attributes, 3), "x");
  EXPECT_EQ(value_of<int>(bytes_of(attributes, 4)), 1);
  EXPECT_EQ(bytes_of(attributes, 9), "");
}

TEST(Attributes, of_impossible_length_end_the_list) {
  EXPECT_TRUE(parse_attributes("\x03\0\x01\0"s).empty());    // shorter than its own header
  EXPECT_TRUE(parse_attributes("\xff\0\x01\0xx"s).empty());  // longer than the available bytes
  EXPECT_TRUE(parse_attributes("\x04\0"s).empty());
}

// A message of this type, without sequence number and sender.
std::string message(char type, const std::string& body) {
  return std::string{static_cast<char>(16 + body.size())} + "\0\0\0"s + type +
         std::string(11, '\0') + body;
}

TEST(Messages, end_with_the_one_that_says_so) {
  Answers answers;
  const std::string bytes = message(16, "1234\x05\0\x03\0x\0\0\0"s) + message(3, "") + "more";
  EXPECT_TRUE(take_messages(bytes, 4, answers).value());
  ASSERT_EQ(answers.messages.size(), 1U);
  EXPECT_EQ(answers.messages[0].fixed, "1234");
  EXPECT_EQ(bytes_of(answers.messages[0].attributes, 3), "x");
}

TEST(Messages, with_an_impossible_error_are_an_error) {
  for (const std::string& code : {"\0\0\0\x80"s, "\x0d\0\0\0"s, "\xff"s}) {
    Answers answers;
    EXPECT_FALSE(take_messages(message(2, code), 4, answers).has_value());
  }
}

TEST(IpText, wants_the_family_s_length) {
  EXPECT_EQ(ip_text(AF_INET, "\x7f\0\0\x01"s), "127.0.0.1");
  EXPECT_EQ(ip_text(AF_INET6, std::string(15, '\0') + '\x01'), "::1");
  EXPECT_EQ(ip_text(AF_INET, "\x7f"s), "");
  EXPECT_EQ(ip_text(AF_UNIX, "\x7f\0\0\x01"s), "");
}

}  // namespace
}  // namespace muster::facts
