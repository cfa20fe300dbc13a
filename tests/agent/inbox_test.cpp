#include "agent/inbox.hpp"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

TEST(Inbox, LinesAndPayloadsComeOutAsTheyWentInHoweverTheyAreCut) {
  const std::string binary(
      "a\nb\0c\x1e"
      "1 x\n",
      10);
  const std::string all =
      "first\n" + with_payload("second\n", binary) + with_payload("third\n", "") + "last\n";
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    Inbox inbox;
    std::vector<Message> messages;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      inbox.add(std::string_view(all).substr(at, piece));
      while (auto message = inbox.next()) messages.push_back(*std::move(message));
    }
    ASSERT_EQ(messages.size(), 4U) << "in pieces of " << piece;
    EXPECT_EQ(messages[0].line, "first");
    EXPECT_EQ(messages[1].line, "second");
    EXPECT_EQ(messages[1].payload, binary);
    EXPECT_EQ(messages[2].line, "third");
    EXPECT_EQ(messages[2].payload, "");
    EXPECT_EQ(messages[3].line, "last");
    EXPECT_FALSE(inbox.broken());
  }
}

TEST(Inbox, AGreetingOfTheHostsShellIsALineLikeAnyOther) {
  Inbox inbox;
  inbox.add("+------------+\n+5 unread mails\n");
  EXPECT_EQ(inbox.next()->line, "+------------+");
  EXPECT_EQ(inbox.next()->line, "+5 unread mails");
}

TEST(Inbox, NonsenseAndTooMuchBreakIt) {
  for (const std::string text : {"\x1ex line\n",
                                 "\x1e"
                                 "5\n",
                                 "\x1e"
                                 "99999999999999999999 line\n",
                                 "\x1e"
                                 "2000000 line\n"}) {
    Inbox inbox;
    inbox.add(text);
    EXPECT_FALSE(inbox.next()) << text;
    EXPECT_TRUE(inbox.broken()) << text;
  }
  Inbox endless;
  endless.add(std::string(kMaxLine + 1, 'x'));
  EXPECT_FALSE(endless.next());
  EXPECT_TRUE(endless.broken());
}

}  // namespace
}  // namespace muster::agent
