#include "run/ask_desk.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json_fields.hpp"
#include "sys/local_socket.hpp"

namespace muster::run {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr const char* kSocket = "/ask";
constexpr std::size_t kMostCallers = 16;
constexpr double kLongestLook = 600;  // seconds
constexpr milliseconds kPause{1000};
constexpr milliseconds kAnswerTakes{15'000};  // beyond the requested time

bool is_own(int connection) {
  const auto peer = sys::peer_of(connection);
  return peer && (peer->uid == ::geteuid() || peer->uid == 0);
}

}  // namespace

template <class V>
void fields(V& v, WhyQuestion& q) {
  v("slow_s", q.slow_s);
}

template <class V>
void fields(V& v, WhyAnswer& a) {
  v("folder", a.folder), v("error", a.error);
}

Result<std::unique_ptr<AskDesk>> AskDesk::open(sys::Loop& loop, const std::string& folder,
                                               OnQuestion on_question) {
  const std::string path = folder + kSocket;
  MUSTER_TRY(sys::Fd listener, sys::listen_locally(path));
  return std::unique_ptr<AskDesk>(
      new AskDesk(loop, path, std::move(listener), std::move(on_question)));
}

AskDesk::AskDesk(sys::Loop& loop, std::string path, sys::Fd listener, OnQuestion on_question)
    : loop_(loop),
      path_(std::move(path)),
      listener_(std::move(listener)),
      on_question_(std::move(on_question)) {
  listen();
}

AskDesk::~AskDesk() {
  watch_ = nullptr;
  (void)::unlink(path_.c_str());
}

void AskDesk::listen() {
  watch_ = loop_.watch(listener_.get(), [this] { admit(); });
}

void AskDesk::admit() {
  const int number = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (number < 0 && (errno == EMFILE || errno == ENFILE)) {  // the caller stays in the queue
    watch_ = nullptr;
    pause_ = loop_.timer(kPause, {}, [this] { listen(); });
  }
  if (number < 0) return;
  sys::Fd connection(number);
  std::erase_if(callers_, [](const auto& one) { return !one->channel.open(); });
  if (!is_own(number) || callers_.size() >= kMostCallers) return;
  auto caller = std::make_shared<Caller>();
  caller->watched = sys::Fd(::fcntl(number, F_DUPFD_CLOEXEC, 0));
  if (!caller->watched.valid()) return;
  caller->channel = agent::Channel(std::move(connection));
  caller->watch = loop_.watch(caller->watched.get(), [this, weak = std::weak_ptr(caller)] {
    if (const auto known = weak.lock()) listen_to(known);
  });
  callers_.push_back(std::move(caller));
}

void AskDesk::listen_to(const std::shared_ptr<Caller>& caller) {
  caller->channel.receive();
  const auto message = caller->channel.next();
  if (message && !std::exchange(caller->asked, true)) {
    auto question = parse_fields<WhyQuestion>(message->line, "cannot read the question");
    const auto answer = [weak = std::weak_ptr(caller)](const WhyAnswer& said) {
      if (const auto known = weak.lock()) known->channel.send(json_of_fields(said) + "\n");
    };
    if (!question) {
      answer({.error = question.error().what});
    } else {
      question->slow_s = std::clamp(question->slow_s, 0.0, kLongestLook);
      on_question_(*question, answer);
    }
  }
  if (caller->channel.open()) return;
  caller->watch = nullptr;
  callers_.remove(caller);
}

Result<WhyAnswer> ask_why(const std::string& folder, const WhyQuestion& question) {
  sys::Fd connection = sys::connect_locally(folder + kSocket);
  if (!connection.valid()) {
    return unexpected(Error{.what = "the process that looks after this run takes no questions now",
                            .where = {.file = folder},
                            .hint = "it does while the ranks run; it may still be checking hosts, "
                                    "or be ending the run"});
  }
  agent::Channel channel(std::move(connection));
  channel.send(json_of_fields(question) + "\n");
  const auto until =
      Clock::now() + kAnswerTakes +
      std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(question.slow_s));
  while (channel.open()) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
    pollfd watched = {channel.in(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&watched, 1, static_cast<int>(left.count())) == 0) {
      return unexpected(
          Error{.code = ErrorCode::kTimeout,
                .what = "the process that looks after this run does not answer",
                .where = {.file = folder},
                .hint = "it may be stopped (Ctrl-Z): fg in its terminal continues it"});
    }
    channel.receive();
    if (const auto message = channel.next()) {
      return parse_fields<WhyAnswer>(message->line, "cannot read the answer");
    }
  }
  return unexpected(
      Error{.what = "the run ended while it was being inspected", .where = {.file = folder}});
}

}  // namespace muster::run
