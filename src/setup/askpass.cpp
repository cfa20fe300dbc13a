#include "setup/askpass.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "sys/local_address.hpp"
#include "sys/process_stat.hpp"

namespace muster::setup {
namespace {

constexpr const char* kSocketVariable = "MUSTER_ASKPASS";
constexpr const char* kHostVariable = "MUSTER_ASKPASS_HOST";
constexpr std::size_t kMaxRequest = 65536;
constexpr int kRequestSeconds = 5;  // for the question, which the other side writes at once
// For the reply. The person may first answer the questions of other hosts.
constexpr int kReplySeconds = static_cast<int>(std::chrono::seconds(kQuestionsDeadline).count());

void set_timeout(int fd, int seconds) {
  const timeval value{.tv_sec = seconds, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

std::string read_to_end(int fd) {
  std::string text;
  char buffer[4096];
  while (text.size() < kMaxRequest) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::explicit_bzero(buffer, sizeof buffer);
  return text;
}

// Gives up at EAGAIN, which means that the socket's time-out has passed. sys::write_all would wait
// and try again.
bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  return value == nullptr ? std::string() : std::string(value);
}

// Returns 0 if the process no longer exists.
pid_t parent_of(pid_t process) {
  const auto stat = sys::read_process_stat(process);
  return stat ? stat->parent : 0;
}

// Whether the ssh that started the process `asker` is our own child. The ssh to a jump host is not:
// its parent is the ssh to the host.
bool asked_by_our_child(pid_t asker) {
  return parent_of(parent_of(asker)) == ::getpid();
}

Result<std::string> ask(const std::string& path, const std::string& host, std::string_view prompt) {
  const sys::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = sys::local_address(path);
  if (!fd.valid() || !address ||
      ::connect(fd.get(), sys::as_sockaddr(*address), sizeof *address) != 0) {
    return unexpected(system_error("cannot reach the muster setup that started this ssh", path));
  }
  set_timeout(fd.get(), kReplySeconds);
  std::string request = host;
  request += '\0';
  request += prompt;
  if (!send_all(fd.get(), request)) return unexpected(system_error("cannot ask", path));
  ::shutdown(fd.get(), SHUT_WR);
  return read_to_end(fd.get());
}

// If a password prompt gets no answer, ssh sends an empty password. Ending ssh is the only way to
// prevent that.
void end_ssh() {
  const pid_t parent = ::getppid();
  const auto name = sys::read_file(fmt::format("/proc/{}/comm", parent), 64);
  if (name && *name == "ssh\n") ::kill(parent, SIGTERM);
}

}  // namespace

std::optional<int> askpass_main(int argc, char** argv) {
  const std::string path = variable(kSocketVariable);
  if (path.empty()) return std::nullopt;
  // With "none", ssh shows a notice, such as "touch your security key", and asks nothing.
  if (variable("SSH_ASKPASS_PROMPT") == "none") return 0;
  auto reply = ask(path, variable(kHostVariable), argc > 1 ? argv[1] : "");
  if (!reply || reply->empty()) return 1;
  const char kind = reply->front();
  if (kind == 'e') end_ssh();
  if (kind != 'a') return 1;
  *reply += '\n';
  const ssize_t put = ::write(STDOUT_FILENO, reply->data() + 1, reply->size() - 1);
  ::explicit_bzero(reply->data(), reply->size());
  return put > 0 ? 0 : 1;
}

Result<std::unique_ptr<AskpassServer>> AskpassServer::open(const std::string& folder,
                                                           Doorkeeper& doorkeeper) {
  std::unique_ptr<AskpassServer> server(new AskpassServer(folder + "/ask", doorkeeper));
  MUSTER_CHECK(server->listen());
  server->thread_ = std::jthread([raw = server.get()] { raw->serve(); });
  return server;
}

AskpassServer::~AskpassServer() {
  if (stop_.valid()) (void)::eventfd_write(stop_.get(), 1);
  if (thread_.joinable()) thread_.join();
  if (listener_.valid()) ::unlink(path_.c_str());
}

Result<void> AskpassServer::listen() {
  char program[4096];
  const ssize_t length = ::readlink("/proc/self/exe", program, sizeof program);
  if (length <= 0) return unexpected(system_error("cannot find muster's own binary"));
  program_.assign(program, static_cast<std::size_t>(length));
  const auto address = sys::local_address(path_);
  if (!address) {
    return unexpected(
        Error{.what = "this path is too long for a socket", .where = {.file = path_}});
  }
  ::unlink(path_.c_str());  // left behind by a setup that was killed; the caller holds the lock
  listener_ = sys::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  stop_ = sys::Fd(::eventfd(0, EFD_CLOEXEC));
  if (!listener_.valid() || !stop_.valid() ||
      ::bind(listener_.get(), sys::as_sockaddr(*address), sizeof *address) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0) {
    return unexpected(system_error("cannot listen for ssh's questions", path_));
  }
  return {};
}

std::vector<std::string> AskpassServer::environment(const std::string& host) const {
  return {"SSH_ASKPASS=" + program_, "SSH_ASKPASS_REQUIRE=force",
          fmt::format("{}={}", kSocketVariable, path_), fmt::format("{}={}", kHostVariable, host)};
}

void AskpassServer::begin(std::span<const std::string> hosts) {
  const std::scoped_lock lock(mutex_);
  doorkeeper_.begin(hosts);
}

void AskpassServer::ended(const std::string& host) {
  const std::scoped_lock lock(mutex_);
  send(doorkeeper_.on_end(host));
}

std::optional<Trouble> AskpassServer::trouble(const std::string& host) {
  const std::scoped_lock lock(mutex_);
  const Trouble* found = doorkeeper_.trouble(host);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::vector<KeyOffer> AskpassServer::offers() {
  const std::scoped_lock lock(mutex_);
  return doorkeeper_.offers();
}

bool AskpassServer::person_was_asked() {
  const std::scoped_lock lock(mutex_);
  return doorkeeper_.person_was_asked();
}

void AskpassServer::serve() {
  while (true) {
    pollfd polled[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) return;
    if (polled[0].revents == 0) continue;
    sys::Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.valid()) take(std::move(client));
  }
}

void AskpassServer::take(sys::Fd client) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != ::geteuid()) {
    return;
  }
  set_timeout(client.get(), kRequestSeconds);
  const std::string request = read_to_end(client.get());
  const std::size_t middle = request.find('\0');
  if (middle == std::string::npos) return;
  const std::scoped_lock lock(mutex_);
  const int id = next_id_++;
  clients_.emplace(id, std::move(client));
  send(doorkeeper_.on_question({.id = id,
                                .host = request.substr(0, middle),
                                .prompt = request.substr(middle + 1),
                                .from_jump_host = !asked_by_our_child(peer.pid)}));
}

void AskpassServer::send(std::vector<Reply> replies) {
  for (const Reply& reply : replies) {
    const auto client = clients_.find(reply.id);
    if (client == clients_.end()) continue;
    const char kind = reply.kind == ReplyKind::kAnswer    ? 'a'
                      : reply.kind == ReplyKind::kDecline ? 'd'
                                                          : 'e';
    if (send_all(client->second.get(), std::string_view(&kind, 1))) {
      (void)send_all(client->second.get(), reply.text.text());
    }
    clients_.erase(client);
  }
}

}  // namespace muster::setup
