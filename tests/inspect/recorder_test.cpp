#include "inspect/recorder.hpp"

#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/local_socket.hpp"

namespace muster::inspect {
namespace {

constexpr const char* kHead = "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1, max=30\r\n";

TEST(Http, IsParsedAsItArrives) {
  const std::string head = kHead;
  struct {
    std::string text;
    bool has_ended;
    std::optional<Answered> answered;
    std::string body;
  } const cases[] = {
      {head + "Content-Length: 4\r\nContent-Type: text/plain\r\n\r\npong", false, Answered::kYes,
       "pong"},
      {head + "content-length: 4\r\n\r\npong and more", false, Answered::kYes, "pong"},
      {head + "Content-Length: 4\r\n\r\npo", false, std::nullopt, ""},
      {head + "Content-Length: 4\r\n\r\npo", true, Answered::kNo, ""},
      {head + "\r\npo", false, std::nullopt, ""},
      {head + "\r\npo", true, Answered::kYes, "po"},
      {head, false, std::nullopt, ""},
      {head, true, Answered::kNo, ""},
      {"", true, Answered::kNo, ""},
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", false, Answered::kNo, ""},
      {"HTTP/1.1 500 Error\r\n\r\n", false, Answered::kNo, ""},
      {"SSH-2.0\r\n\r\n", false, Answered::kNo, ""},
      {std::string(20000, 'x'), false, Answered::kNo, ""},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.text.substr(0, 200));
    const auto answer = parse_http(one.text, one.has_ended);
    ASSERT_EQ(answer.has_value(), one.answered.has_value());
    if (!answer) continue;
    EXPECT_EQ(answer->answered, *one.answered);
    EXPECT_EQ(answer->body, one.body);
  }
}

class FolderOfRecorders : public testing::Test {
 protected:
  FolderOfRecorders() {
    std::string name = testing::TempDir() + "recordersXXXXXX";
    root_ = ::mkdtemp(name.data());
    // This path is longer than a socket's path may be.
    path_ = root_ + "/" + std::string(120, 'a');
    std::filesystem::create_directory(path_);
  }
  ~FolderOfRecorders() override { std::filesystem::remove_all(root_); }

  sys::Fd listen(const std::string& name) {
    const sys::Fd folder(::open(path_.c_str(), O_PATH | O_CLOEXEC));
    auto socket = sys::listen_locally("/proc/self/fd/" + std::to_string(folder.get()) + "/" + name);
    EXPECT_TRUE(socket) << socket.error().what;
    return std::move(*socket);
  }

  std::string root_;
  std::string path_;
};

TEST_F(FolderOfRecorders, AnswersOrNot) {
  const sys::Fd socket = listen("a");
  {
    const sys::Fd stale = listen("stale");
  }
  std::ofstream(path_ + "/file") << "no socket";
  const pid_t self = ::getpid();
  const Recorders recorders(path_, std::span(&self, 1));
  ASSERT_EQ(recorders.list().size(), 1U);
  EXPECT_EQ(recorders.list()[0].name, "a");
  EXPECT_EQ(recorders.list()[0].pid, self);
  const auto soon = [] { return Clock::now() + std::chrono::milliseconds(50); };
  EXPECT_EQ(recorders.ask("a", "ping", soon()).answered, Answered::kNotInTime);
  EXPECT_EQ(recorders.ask("stale", "ping", soon()).answered, Answered::kNo);
  EXPECT_EQ(recorders.ask("none", "ping", soon()).answered, Answered::kNo);
}

TEST_F(FolderOfRecorders, IsAskedOverHttp) {
  const sys::Fd socket = listen("a");
  const pid_t self = ::getpid();
  const Recorders recorders(path_, std::span(&self, 1));
  std::string request;
  std::thread server([&] {
    while (request.empty()) {
      const sys::Fd one(::accept(socket.get(), nullptr, nullptr));
      if (!one.valid()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      char bytes[1024];
      const ssize_t got = ::read(one.get(), bytes, sizeof bytes);
      if (got <= 0) continue;  // Recorders' constructor checks who listens
      request.assign(bytes, static_cast<std::size_t>(got));
      const std::string answer = std::string(kHead) + "Content-Length: 4\r\n\r\npong";
      (void)::write(one.get(), answer.data(), answer.size());
    }
  });
  const auto answer = recorders.ask("a", "ping", Clock::now() + std::chrono::seconds(60));
  server.join();
  EXPECT_EQ(answer.answered, Answered::kYes);
  EXPECT_EQ(answer.body, "pong");
  EXPECT_EQ(request, "POST /handler/ping HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
}

TEST_F(FolderOfRecorders, IgnoresStrangers) {
  const sys::Fd socket = listen("a");
  const pid_t other = 1;
  EXPECT_TRUE(Recorders(path_, std::span(&other, 1)).list().empty());
  EXPECT_TRUE(Recorders("", std::span(&other, 1)).list().empty());
  EXPECT_TRUE(Recorders("/nonexistent", std::span(&other, 1)).list().empty());
}

}  // namespace
}  // namespace muster::inspect
