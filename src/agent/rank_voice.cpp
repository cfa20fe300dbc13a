#include "agent/rank_voice.hpp"

#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/channel.hpp"
#include "agent/rank_links.hpp"
#include "sys/local_socket.hpp"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kQueue = std::size_t{256} << 10;  // most bytes that wait for the warden
constexpr milliseconds kTryAgain{20};

sys::Fd knock(const std::string& folder, milliseconds patience) {
  const auto give_up = Clock::now() + patience;
  while (true) {
    sys::Fd connection = connect_to_links(folder);
    if (connection.valid() || Clock::now() >= give_up) return connection;
    (void)::poll(nullptr, 0, static_cast<int>(kTryAgain.count()));
  }
}

class ToWarden : public RankVoice {
 public:
  ToWarden(std::string folder, sys::Fd connection)
      : folder_(std::move(folder)), warden_(std::move(connection)) {}

  void start(const RankStart& start, int out, int err) override {
    out_ = sys::Fd(::fcntl(out, F_DUPFD_CLOEXEC, 0));
    err_ = sys::Fd(::fcntl(err, F_DUPFD_CLOEXEC, 0));
    start_ = to_line(start);
    if (!warden_.open()) return come_back(milliseconds(0));
    say_start();
  }
  void output(sys::Stream stream, std::uint64_t at, std::string_view bytes) override {
    say(output_message(stream, at, bytes));
  }
  void end(const RankEnd& end) override {
    const std::string line = to_line(end);
    say(line);
    end_ = line;
  }

  [[nodiscard]] bool has_room() const override { return warden_.unsent() < kQueue; }
  [[nodiscard]] int descriptor() const override { return warden_.open() ? warden_.in() : -1; }
  [[nodiscard]] short events() const override {
    return static_cast<short>(POLLIN | (warden_.has_unsent() ? POLLOUT : 0));
  }
  void go_on() override {
    warden_.flush();
    warden_.receive();  // the warden sends nothing; this only notices its end
    if (!warden_.open()) come_back(milliseconds(0));
  }
  [[nodiscard]] std::optional<Clock::time_point> alone_since() const override {
    return alone_since_;
  }
  [[nodiscard]] pid_t listener() const override {
    const auto peer = sys::peer_of(warden_.in());
    return peer ? peer->pid : 0;
  }
  [[nodiscard]] bool finish(milliseconds patience) override {
    const auto give_up = Clock::now() + patience;
    while (true) {
      if (!warden_.open()) come_back(milliseconds(0));
      warden_.flush();
      if (warden_.open() && !warden_.has_unsent()) return true;
      if (Clock::now() >= give_up) return false;
      pollfd watched{.fd = warden_.open() ? warden_.out() : -1, .events = POLLOUT, .revents = 0};
      (void)::poll(&watched, 1, static_cast<int>(kTryAgain.count()));
    }
  }

 private:
  void say(const std::string& message) {
    if (!warden_.open()) come_back(milliseconds(0));
    warden_.send(message);
  }
  // Tries to connect to a new warden after the old one was killed.
  void come_back(milliseconds patience) {
    sys::Fd connection = knock(folder_, patience);
    if (!connection.valid()) {
      if (!alone_since_) alone_since_ = Clock::now();
      return;
    }
    alone_since_.reset();
    warden_ = Channel(std::move(connection));
    if (!start_.empty()) say_start();
    if (!end_.empty()) warden_.send(end_);
  }

  void say_start() {
    hand_over_outputs(warden_.out(), out_.get(), err_.get());
    warden_.send(start_);
  }

  std::string folder_;
  Channel warden_;
  sys::Fd out_;
  sys::Fd err_;
  std::string start_;  // the start as it was sent, to repeat it to a later warden
  std::string end_;
  std::optional<Clock::time_point> alone_since_;
};

class Aloud : public RankVoice {
 public:
  explicit Aloud(std::string label) : label_(std::move(label)) {}

  void start(const RankStart& start, int /*out*/, int /*err*/) override {
    for (const std::string& remark : start.remarks) {
      write(STDERR_FILENO, fmt::format("{}muster: {}\n", label_, remark));
    }
  }
  void output(sys::Stream stream, std::uint64_t /*at*/, std::string_view bytes) override {
    std::string& line = stream == sys::Stream::kOut ? out_ : err_;
    const int to = stream == sys::Stream::kOut ? STDOUT_FILENO : STDERR_FILENO;
    if (label_.empty()) return write(to, bytes);
    for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos;
         bytes.remove_prefix(end + 1)) {
      line.append(bytes.substr(0, end + 1));
      write(to, label_ + line);
      line.clear();
    }
    line.append(bytes);
  }
  void end(const RankEnd& end) override {
    if (!out_.empty()) write(STDOUT_FILENO, fmt::format("{}{}\n", label_, out_));
    if (!err_.empty()) write(STDERR_FILENO, fmt::format("{}{}\n", label_, err_));
    if (!end.failure.empty()) {
      write(STDERR_FILENO, fmt::format("{}muster: {}\n", label_, end.failure));
    }
  }
  [[nodiscard]] bool has_room() const override { return true; }
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] short events() const override { return 0; }
  void go_on() override {}
  [[nodiscard]] std::optional<Clock::time_point> alone_since() const override {
    return std::nullopt;
  }
  [[nodiscard]] pid_t listener() const override { return 0; }
  [[nodiscard]] bool finish(milliseconds /*patience*/) override { return true; }

 private:
  // A failed write is ignored: if nobody reads the output, there is nobody to tell.
  static void write(int to, std::string_view bytes) { (void)sys::write_all(to, bytes); }

  std::string label_;
  std::string out_;  // unfinished line of standard output
  std::string err_;
};

}  // namespace

Result<std::unique_ptr<RankVoice>> speak_to_warden(const std::string& folder,
                                                   milliseconds patience) {
  sys::Fd connection = knock(folder, patience);
  if (!connection.valid()) {
    return unexpected(Error{.what = "muster's watcher process on this host does not answer",
                            .where = {.file = folder},
                            .hint = "start the job again; if this happens repeatedly, the host is "
                                    "overloaded or the run's directory was removed"});
  }
  return std::make_unique<ToWarden>(folder, std::move(connection));
}

std::unique_ptr<RankVoice> speak_aloud(std::string label) {
  return std::make_unique<Aloud>(std::move(label));
}

}  // namespace muster::agent
