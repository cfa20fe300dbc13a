#include "recorder/folder.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "recorder/server.hpp"

namespace muster::recorder {
namespace {

class RecordersFolder : public testing::Test {
 protected:
  RecordersFolder() {
    std::string name = testing::TempDir() + "recordersXXXXXX";
    root_ = ::mkdtemp(name.data());
    path_ = root_ + "/" + std::string(120, 'a');  // longer than a socket's path may be
    std::filesystem::create_directory(path_);
    ::chmod(path_.c_str(), 0700);
    folder_ = open_private_folder(path_.c_str());
  }
  ~RecordersFolder() override {
    ::close(folder_);
    std::filesystem::remove_all(root_);
  }

  [[nodiscard]] int listen(const std::string& name) const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket_path(folder_, name);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(fd, 1), 0);
    return fd;
  }

  std::string root_;
  std::string path_;
  int folder_ = -1;
  const std::string pid_ = std::to_string(::getpid());
};

TEST_F(RecordersFolder, IsUsedIfNobodyElseCanEnterIt) {
  EXPECT_GE(folder_, 0);
  for (const mode_t mode : {0710, 0701, 0750, 0720, 0755, 0777, 01777}) {
    ::chmod(path_.c_str(), mode);
    EXPECT_EQ(open_private_folder(path_.c_str()), -1) << std::oct << mode;
  }
  ::chmod(path_.c_str(), 0700);
  std::ofstream(path_ + "/file") << "no folder";
  ::chmod((path_ + "/file").c_str(), 0700);
  EXPECT_EQ(open_private_folder((path_ + "/file").c_str()), -1);
  EXPECT_EQ(open_private_folder((path_ + "/nothing").c_str()), -1);
  EXPECT_EQ(open_private_folder(nullptr), -1);
  EXPECT_EQ(open_private_folder(""), -1);
  std::filesystem::current_path(root_);
  EXPECT_EQ(open_private_folder(path_.substr(root_.size() + 1).c_str()), -1);
  if (::geteuid() != 0) {
    EXPECT_EQ(open_private_folder("/root"), -1);
  }
}

TEST_F(RecordersFolder, HasOneSocketPerProcess) {
  EXPECT_EQ(free_socket_name(folder_), pid_);
  const int socket = listen(pid_);
  EXPECT_EQ(free_socket_name(folder_), std::nullopt);
  ::close(socket);  // left by a program that this process ran before
  EXPECT_EQ(free_socket_name(folder_), pid_);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/" + pid_));
  std::ofstream(path_ + "/" + pid_) << "no socket";
  EXPECT_EQ(free_socket_name(folder_), pid_ + ".1");
}

TEST_F(RecordersFolder, StaysEmptyWithoutPyTorch) {
  ::setenv("MUSTER_RECORDERS", path_.c_str(), 1);
  EXPECT_FALSE(serve_records());
  EXPECT_FALSE(serve_records());
  stop_serving();
  ::unsetenv("MUSTER_RECORDERS");
  EXPECT_TRUE(std::filesystem::is_empty(path_));
}

}  // namespace
}  // namespace muster::recorder
