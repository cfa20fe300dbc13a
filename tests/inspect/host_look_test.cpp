#include "inspect/host_look.hpp"

#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/file.hpp"
#include "sys/socket_address.hpp"

namespace muster::inspect {
namespace {

class FakeSys : public testing::Test {
 protected:
  FakeSys() {
    std::string name = testing::TempDir() + "sysXXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~FakeSys() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text << '\n';
  }

  std::string root_;
};

TEST_F(FakeSys, HasCountersThatTellOfTrouble) {
  write("mlx5_0/ports/1/counters/symbol_error", "7");
  write("mlx5_0/ports/1/counters/link_downed", "2");
  write("mlx5_0/ports/1/counters/port_xmit_data", "99");  // not an error counter
  write("mlx5_0/ports/1/counters/port_rcv_errors", "not a number");
  write("mlx5_0/ports/1/hw_counters/out_of_sequence", "4");
  write("mlx5_0/ports/1/hw_counters/packet_seq_err", "9");
  const std::vector<Counter> before = read_counters(root_);
  write("mlx5_0/ports/1/counters/symbol_error", "10");
  write("mlx5_0/ports/1/hw_counters/packet_seq_err", "3");  // the counter was reset
  const std::vector<Counter> changed = compare_counters(before, read_counters(root_));
  const std::vector<Counter> wanted = {
      {.device = "mlx5_0/1", .name = "symbol_error", .value = 10, .change = 3},
      {.device = "mlx5_0/1", .name = "link_downed", .value = 2}};
  EXPECT_EQ(changed, wanted);
  EXPECT_TRUE(read_counters(root_ + "/none").empty());
}

TEST_F(FakeSys, HasInterfacesWithoutCable) {
  write("eth0/carrier", "1");
  write("eth0/operstate", "up");
  write("eth1/carrier", "0");
  write("eth1/operstate", "down");
  write("docker0/carrier", "0");
  write("docker0/operstate", "down");
  write("docker0/bridge/bridge_id", "8000");
  const std::vector<Counter> wanted = {{.device = "eth1", .name = "no carrier", .value = 1}};
  EXPECT_EQ(read_dead_interfaces(root_), wanted);
  EXPECT_EQ(compare_counters({}, wanted), wanted);
}

TEST(HostLook, TellsFullDisks) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  EXPECT_EQ(full_disk_text("/", 100 * kGiB, 2 * kGiB), "");
  EXPECT_EQ(full_disk_text("/", 100 * kGiB, 0), "/ (0 bytes left)");
  EXPECT_EQ(full_disk_text("/", 200 * kGiB, kGiB), "/ (1073741824 bytes left)");
  EXPECT_EQ(full_disk_text("/dev/shm", kGiB, 15 << 20), "/dev/shm (15728640 bytes left)");
  EXPECT_EQ(full_disk_text("/proc", 0, 0), "");
}

TEST(HostLook, TellsTheLoad) {
  EXPECT_DOUBLE_EQ(parse_load("1.07 0.80 0.60 1/90 9701\n"), 1.07);
  EXPECT_DOUBLE_EQ(parse_load("132.50 0 0"), 132.5);
  for (const char* text : {"", "x", "1", "-1.00", "1.0"}) EXPECT_EQ(parse_load(text), 0) << text;
}

TEST(HostLook, TellsAddressesOfOthers) {
  for (const std::string& address : host_addresses()) {
    EXPECT_FALSE(address.empty());
    EXPECT_FALSE(address.starts_with("127."));
    EXPECT_FALSE(address.starts_with("fe80"));
  }
}

TEST(HostLook, AsksNccl) {
  auto address = sys::parse_socket_address("127.0.0.1", 0);
  ASSERT_TRUE(address);
  const sys::Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(server.get(), address->pointer(), address->length), 0);
  ASSERT_EQ(::listen(server.get(), 1), 0);
  ASSERT_EQ(::getsockname(server.get(), address->pointer(), &address->length), 0);
  const auto soon = std::chrono::milliseconds(50);
  EXPECT_EQ(ask_nccl(address->port(), Clock::now() + soon), "");  // nobody listens
  std::string asked;
  std::thread nccl([&] {
    (void)sys::Fd(::accept(server.get(), nullptr, nullptr));  // of the first ask_nccl()
    const sys::Fd client(::accept(server.get(), nullptr, nullptr));
    char bytes[64];
    while (asked.find("status\n") == std::string::npos) {
      const ssize_t got = ::read(client.get(), bytes, sizeof bytes);
      if (got <= 0) return;
      asked.append(bytes, static_cast<std::size_t>(got));
    }
    const std::string answer = "OK\nNCCL version 2.28.3\n\x1b[2J\n" + std::string(20000, 'x');
    (void)::write(client.get(), answer.data(), answer.size());
  });
  const std::string answer = ask_nccl(address->port(), Clock::now() + std::chrono::seconds(60));
  nccl.join();
  EXPECT_EQ(asked, "timeout 1\nstatus\n");
  EXPECT_TRUE(answer.starts_with("NCCL version 2.28.3\n?[2J\nxxx")) << answer.substr(0, 50);
  EXPECT_LE(answer.size(), std::size_t{16} << 10);
}

}  // namespace
}  // namespace muster::inspect
