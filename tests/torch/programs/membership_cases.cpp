// Only processes that know the key of a job can take part in it.
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <unistd.h>

#include "torch/job_key.hpp"
#include "torch/links.hpp"
#include "torch/membership.hpp"

namespace muster {
namespace {

using Bytes = std::vector<std::uint8_t>;

const JobKey kKey("0123456789abcdef0123456789abcdef");
const JobKey kOther("0123456789abcdef0123456789abcdee");

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char one : bytes) {
    for (const int digit : {(one >> 4) & 15, one & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

// Test vectors of RFC 2202.
TEST(JobKey, SignsAsTheStandardSays) {
  EXPECT_EQ(hex(JobKey(std::string(20, '\x0b')).sign("Hi There")),
            "b617318655057264e28bc0b6fb378c8ef146be00");
  EXPECT_EQ(hex(JobKey("Jefe").sign("what do ya want for nothing?")),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  EXPECT_EQ(hex(JobKey(std::string(20, '\xaa')).sign(std::string(50, '\xdd'))),
            "125d7342b9ac11cd91a39af48aa17b4f63f175d3");
  EXPECT_EQ(hex(JobKey(std::string(80, '\xaa'))
                    .sign("Test Using Larger Than Block-Size Key - Hash Key First")),
            "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

TEST(JobKey, IsNotOneThatCouldBeGuessed) {
  ASSERT_EQ(::setenv("MUSTER_JOB_KEY", "short", 1), 0);
  EXPECT_THROW((void)JobKey::of_this_process(), std::runtime_error);
  ASSERT_EQ(::unsetenv("MUSTER_JOB_KEY"), 0);
  EXPECT_FALSE(JobKey::of_this_process());
}

class SignedStoreTest : public testing::Test {
 protected:
  c10::intrusive_ptr<c10d::Store> bare = c10::make_intrusive<c10d::HashStore>();
  c10::intrusive_ptr<SignedStore> store = c10::make_intrusive<SignedStore>(bare, kKey);
};

TEST_F(SignedStoreTest, GivesBackWhatItWasGiven) {
  store->set("a", Bytes{1, 2, 0, 3});
  store->set("empty", Bytes{});
  EXPECT_EQ(store->get("a"), (Bytes{1, 2, 0, 3}));
  EXPECT_EQ(store->get("empty"), Bytes{});
  EXPECT_EQ(SignedStore(bare, kKey).get("a"), (Bytes{1, 2, 0, 3}));
  EXPECT_EQ(store->clone()->get("a"), (Bytes{1, 2, 0, 3}));
}

TEST_F(SignedStoreTest, RefusesWhatStrangersWrote) {
  bare->set("plain", Bytes{1, 2, 3});
  bare->set("nothing", Bytes{});
  SignedStore(bare, kOther).set("other key", Bytes{1});
  store->set("a", Bytes{1});
  Bytes changed = bare->get("a");
  changed.back() = 2;
  bare->set("changed", changed);
  for (const char* name : {"plain", "nothing", "other key", "changed"}) {
    EXPECT_THROW(store->get(name), NotOfThisJob) << name;
  }
}

TEST_F(SignedStoreTest, RefusesWhatWasWrittenElsewhere) {
  store->set("group0/rank0", Bytes{1});
  bare->set("group1/rank0", bare->get("group0/rank0"));
  EXPECT_TRUE(store->refusal().empty());
  EXPECT_THROW(c10::make_intrusive<c10d::PrefixStore>("group1", store)->get("rank0"), NotOfThisJob);
  EXPECT_TRUE(store->refusal().starts_with(
      "somebody who is not a rank of this job has written group1/rank0 to its key-value store\n"));
}

TEST_F(SignedStoreTest, TellsWhetherTwoRanksKnowTheSame) {
  SignedStore other(bare, kKey);
  store->set("rank0", Bytes{1});
  other.set("rank1", Bytes{2});
  EXPECT_NE(store->digest(), other.digest());
  (void)store->get("rank1");
  (void)other.get("rank0");
  EXPECT_EQ(store->digest(), other.digest());
}

// The second process of a rank has the same key and signs a second address. The other ranks may
// know only the first address.
TEST_F(SignedStoreTest, TellsThatARankWasStartedTwice) {
  SignedStore first(bare, kKey);
  first.set("rank1", Bytes{1});
  (void)store->get("rank1");
  SignedStore second(bare, kKey);
  second.set("rank1", Bytes{2});
  (void)store->get("rank1");
  EXPECT_NE(store->digest(), second.digest());
  first.set("rank1", Bytes{1});
  (void)second.get("rank1");  // counts its own value, not the old one that is there again
  EXPECT_NE(store->digest(), second.digest());
}

class SessionTest : public SignedStoreTest {};

TEST_F(SessionTest, IsTheSameForAllRanks) {
  const auto first = session_key(bare, 0, kKey);
  const auto second = session_key(bare, 1, kKey);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->sign("x"), second->sign("x"));
  EXPECT_NE(first->sign("x"), kKey.sign("x"));
}

TEST_F(SessionTest, MakesEarlierValuesWorthless) {
  SignedStore(bare, *session_key(bare, 0, kKey)).set("address", Bytes{1});
  SignedStore later(bare, *session_key(bare, 0, kKey));
  EXPECT_THROW(later.get("address"), NotOfThisJob);
}

TEST_F(SessionTest, CannotBeSetByAStranger) {
  (void)session_key(bare, 0, kOther);
  EXPECT_THROW((void)session_key(bare, 1, kKey), NotOfThisJob);
}

TEST_F(SessionTest, NeedsAllRanksToHaveAKeyOrNone) {
  EXPECT_FALSE(session_key(bare, 0, std::nullopt));
  EXPECT_FALSE(session_key(bare, 1, std::nullopt));
  EXPECT_THROW((void)session_key(bare, 1, kKey), std::runtime_error);
  (void)session_key(bare, 0, kKey);
  EXPECT_THROW((void)session_key(bare, 1, std::nullopt), std::runtime_error);
}

std::string padded(std::string end) {
  end.resize(kEndBytes, '\0');
  return end;
}

// Fake links: the lower of two ranks has opened the connection, from a port with its own number.
class SaidLinks : public Links {
 public:
  explicit SaidLinks(int rank, std::string agreed = "g")
      : rank_(rank), agreed_(std::move(agreed)) {}

  void look() override {}
  std::string agreed() const override { return agreed_; }
  std::string opened(std::size_t /*network*/, int other) const override {
    return rank_ < other ? "port " + std::to_string(rank_) : "";
  }
  bool accepted(std::size_t /*network*/, const std::string& end) const override {
    return end == padded("port 0") || end == padded("port 1");
  }

 private:
  int rank_;
  std::string agreed_;
};

// Returns by rank what it threw, or "". All ranks are connected over Gloo, on two networks.
std::vector<std::string> prove(const std::vector<JobKey>& keys,
                               const std::vector<std::string>& agreed) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const int size = static_cast<int>(keys.size());
  std::vector<std::future<std::string>> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(std::async(std::launch::async, [&, rank]() -> std::string {
      auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(60));
      for (int i = 0; i < 2; ++i) {
        options->devices.push_back(
            c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1", false));
      }
      c10d::ProcessGroupGloo gloo(store, rank, size, options);
      const auto which = static_cast<std::size_t>(rank);
      std::string said;
      try {
        SaidLinks links(rank, agreed[which]);
        prove_membership(gloo, keys[which], 2, links);
      } catch (const NotOfThisJob& error) {
        said = error.what();
      }
      // Wait for the other ranks, because a rank that leaves closes its connections to them.
      store->add("done", 1);
      while (store->add("done", 0) < size) std::this_thread::yield();
      return said;
    }));
  }
  std::vector<std::string> all;
  for (auto& rank : ranks) all.push_back(rank.get());
  return all;
}

TEST(Membership, IsProvedByTheKey) {
  EXPECT_EQ(prove({kKey, kKey, kKey}, {"g", "g", "g"}), (std::vector<std::string>{"", "", ""}));
}

TEST(Membership, IsRefusedToAStrangerByName) {
  const auto said = prove({kKey, kOther, kKey}, {"g", "g", "g"});
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_TRUE(said[rank].starts_with(
        "the process that is connected as rank 1 does not belong to this job\n"))
        << said[rank];
  }
}

TEST(Membership, IsRefusedToRanksThatBelieveOtherwise) {
  const auto said = prove({kKey, kKey, kKey}, {"g", "g", "h"});
  EXPECT_TRUE(said[0].starts_with("the process that is connected as rank 2")) << said[0];
}

class Done : public c10d::Work {
 public:
  bool wait(std::chrono::milliseconds /*timeout*/) override { return true; }
};

// The messages between two ranks, one per operation.
struct Mail {
  std::mutex mutex;
  std::condition_variable came;
  std::array<std::vector<std::string>, 2> sent;  // from each rank to the other
  std::array<bool, 2> closed = {};
};

// A backend for two ranks in one process.
class InMemory : public c10d::Backend {
 public:
  InMemory(int rank, Mail& mail) : Backend(rank, 2), mail_(mail) {}

  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& received, at::Tensor& sent,
                                               std::vector<std::int64_t>& /*received_sizes*/,
                                               std::vector<std::int64_t>& /*sent_sizes*/,
                                               const c10d::AllToAllOptions& /*options*/) override {
    const auto own = static_cast<std::size_t>(getRank());
    const std::size_t other = 1 - own;
    const auto bytes = static_cast<std::size_t>(sent.size(1));
    std::unique_lock lock(mail_.mutex);
    mail_.sent[own].emplace_back(static_cast<const char*>(sent[1 - getRank()].data_ptr()), bytes);
    mail_.came.notify_all();
    mail_.came.wait(lock, [&] { return mail_.sent[other].size() > done_ || mail_.closed[other]; });
    if (mail_.sent[other].size() <= done_) throw std::runtime_error("closed");
    std::memcpy(received[1 - getRank()].data_ptr(), mail_.sent[other][done_++].data(), bytes);
    received[getRank()].copy_(sent[getRank()]);
    return c10::make_intrusive<Done>();
  }

 private:
  Mail& mail_;
  std::size_t done_ = 0;
};

// Returns what rank 0 and rank 1 throw.
std::pair<std::string, std::string> prove_in_memory(Mail& mail, Links& first, Links& second) {
  const auto said = [&](int rank, Links& links) -> std::string {
    InMemory backend(rank, mail);
    std::string error;
    try {
      prove_membership(backend, kKey, 1, links);
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
    const std::lock_guard lock(mail.mutex);
    mail.closed[static_cast<std::size_t>(rank)] = true;
    mail.came.notify_all();
    return error;
  };
  auto other = std::async(std::launch::async, [&] { return said(1, second); });
  const std::string own = said(0, first);
  return {own, other.get()};
}

TEST(Membership, IsNotProvedByWhatWasShownEarlier) {
  Mail mail;
  SaidLinks first(0);
  SaidLinks second(1);
  EXPECT_EQ(prove_in_memory(mail, first, second), (std::pair<std::string, std::string>()));
  Mail replay;
  replay.sent[1] = mail.sent[1];  // everything that rank 1 sent
  InMemory again(0, replay);
  EXPECT_THROW(prove_membership(again, kKey, 1, first), NotOfThisJob);
}

TEST(Membership, IsRefusedIfSomebodyIsBetweenTwoRanks) {
  class Relayed : public SaidLinks {
   public:
    using SaidLinks::SaidLinks;
    bool accepted(std::size_t /*network*/, const std::string& end) const override {
      return end == padded("port 9");
    }
  };
  Mail mail;
  SaidLinks first(0);
  Relayed second(1);
  const auto said = prove_in_memory(mail, first, second);
  EXPECT_TRUE(said.second.starts_with(
      "rank 0 belongs to this job, but rank 1 is not connected to it directly\n"))
      << said.second;
  // Rank 1 has closed the connection, so rank 0 does not go on with a stranger.
  EXPECT_EQ(said.first, "closed");
}

TEST(Membership, IsRefusedIfBothRanksOpenedAConnection) {
  class Open : public SaidLinks {
   public:
    using SaidLinks::SaidLinks;
    std::string opened(std::size_t /*network*/, int /*other*/) const override { return "port 1"; }
  };
  Mail mail;
  SaidLinks first(0);
  Open second(1);
  EXPECT_FALSE(prove_in_memory(mail, first, second).second.empty());
}

class Socket {
 public:
  explicit Socket(int number = ::socket(AF_INET, SOCK_STREAM, 0)) : number_(number) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { ::close(number_); }

  [[nodiscard]] int number() const { return number_; }
  // Returns the socket's own address, after bind or connect.
  [[nodiscard]] sockaddr_in address() const {
    sockaddr_in own{};
    socklen_t length = sizeof own;
    EXPECT_EQ(::getsockname(number_, reinterpret_cast<sockaddr*>(&own), &length), 0);
    return own;
  }

 private:
  int number_;
};

// Two ranks of one process. Rank 1 has connected to rank 0, which has accepted.
class GlooLinksTest : public testing::Test {
 protected:
  GlooLinksTest() {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener.number(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
    EXPECT_EQ(::listen(listener.number(), 5), 0);
    sockaddr_in unused = any;
    unused.sin_port = htons(9);
    set_address("g/0/0", listener.address());
    set_address("g/0/1", unused);
  }

  // Stores an address in Gloo's format: the host's name, the address followed by uninitialised
  // memory, and more.
  void set_address(const std::string& name, const sockaddr_in& address) {
    const std::uint64_t name_size = 2;
    const std::uint64_t address_size = 136;
    Bytes value(8 + name_size + 8 + address_size + 16, 7);
    std::memcpy(value.data(), &name_size, 8);
    std::memcpy(value.data() + 8 + name_size, &address_size, 8);
    std::memcpy(value.data() + 16 + name_size, &address, sizeof address);
    store->set(name, value);
  }

  void connect(const Socket& socket) {
    const sockaddr_in address = listener.address();
    ASSERT_EQ(
        ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }

  c10::intrusive_ptr<SignedStore> store =
      c10::make_intrusive<SignedStore>(c10::make_intrusive<c10d::HashStore>(), kKey);
  Socket listener;
  GlooLinks zero{*store, "g", 0};
  GlooLinks one{*store, "g", 1};
};

TEST_F(GlooLinksTest, BothEndsAreFound) {
  const Socket client;
  connect(client);
  const Socket server(::accept(listener.number(), nullptr, nullptr));
  zero.look();
  one.look();
  const std::string end = one.opened(0, 0);
  EXPECT_FALSE(end.empty());
  EXPECT_TRUE(zero.opened(0, 1).empty());
  EXPECT_TRUE(zero.accepted(0, padded(end)));
  EXPECT_FALSE(zero.accepted(0, padded(end.substr(0, 7) + "x")));
  EXPECT_FALSE(one.accepted(0, padded(end)));  // not at rank 1's address
}

TEST_F(GlooLinksTest, ConnectionsOfAnEarlierGroupAreNotThisOnes) {
  const Socket client;
  connect(client);
  const Socket server(::accept(listener.number(), nullptr, nullptr));
  GlooLinks later{*store, "g", 1};
  later.look();
  EXPECT_TRUE(later.opened(0, 0).empty());
}

TEST_F(GlooLinksTest, NetworksWithOneAddressHaveAConnectionEach) {
  const std::string address = store->known("g/0/0");
  store->set("g/1/0", Bytes(address.begin(), address.end()));
  const Socket first;
  const Socket second;
  connect(first);
  connect(second);
  one.look();
  EXPECT_FALSE(one.opened(0, 0).empty());
  EXPECT_FALSE(one.opened(1, 0).empty());
  EXPECT_NE(one.opened(0, 0), one.opened(1, 0));
}

TEST_F(GlooLinksTest, AConnectionThatHasEndedIsNone) {
  std::string end;
  {
    const Socket client;
    connect(client);
    const Socket server(::accept(listener.number(), nullptr, nullptr));
    one.look();
    end = one.opened(0, 0);
  }
  zero.look();
  EXPECT_FALSE(zero.accepted(0, padded(end)));
}

TEST_F(GlooLinksTest, ValuesWithoutAddressAreRefused) {
  for (const Bytes& value : {Bytes{}, Bytes{1}, Bytes(8, 0), Bytes(16, 0xff), Bytes(170, 0)}) {
    store->set("g/0/1", value);
    EXPECT_THROW((void)zero.opened(0, 1), CannotCheck) << value.size();
  }
  EXPECT_THROW((void)zero.opened(0, 5), CannotCheck);
}

}  // namespace
}  // namespace muster
