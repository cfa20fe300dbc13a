#include "agent/agent.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/descendants.hpp"
#include "agent/handout.hpp"
#include "agent/inspector.hpp"
#include "agent/last_clean_up.hpp"
#include "agent/leftovers.hpp"
#include "agent/protocol.hpp"
#include "agent/reach_test.hpp"
#include "agent/warden.hpp"
#include "base/exit_code.hpp"
#include "facts/gather.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/hash.hpp"

namespace muster::agent {
namespace {

constexpr std::chrono::milliseconds kChildrenEnd{1000};
// How long to wait for the launcher's next line before the run begins.
constexpr int kPatienceMs = 600'000;

Result<Order> await_order(Channel& launcher) {
  while (launcher.open()) {
    if (auto message = launcher.next()) return parse_order(message->line);
    pollfd watched = {launcher.in(), POLLIN, 0};
    if (::poll(&watched, 1, kPatienceMs) <= 0) break;
    launcher.receive();
  }
  if (auto message = launcher.next()) return parse_order(message->line);
  return unexpected(Error{.what = "the connection to the machine that started the run is gone"});
}

// Sends the whole line and waits while the pipe is full, because a host's facts can be larger than
// a pipe's buffer.
void send_all(Channel& launcher, const std::string& line) {
  launcher.send(line);
  while (launcher.open() && launcher.has_unsent()) {
    pollfd watched = {launcher.out(), POLLOUT, 0};
    if (::poll(&watched, 1, kPatienceMs) <= 0) return;
    launcher.flush();
  }
}

Result<std::string> prepare_folder(const Order& hello) {
  MUSTER_TRY(const std::string base, base_folder());
  MUSTER_CHECK(sys::make_private_folder(base + "/runs"));
  MUSTER_TRY(std::string folder, run_folder(hello.run_id));
  MUSTER_CHECK(sys::make_private_folder(folder));
  if (hello.request && !hello.request->host.empty()) {
    MUSTER_CHECK(sys::write_file(folder + "/host", hello.request->host + "\n", 0600));
  }
  return folder;
}

bool copy_some(int from, int to) {
  char bytes[65536];
  const ssize_t count = ::read(from, bytes, sizeof bytes);
  if (count <= 0) return false;
  const auto size = static_cast<std::size_t>(count);
  return sys::write_all(to, {bytes, size}) == size;
}

// Relays bytes between the launcher and the warden until either side disconnects.
int carry(sys::Fd warden) {
  for (const int descriptor : {0, 1}) {
    (void)::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  }
  while (true) {
    pollfd watched[2] = {{0, POLLIN, 0}, {warden.get(), POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0) return kExitOwnFault;
    if (watched[0].revents != 0 && !copy_some(0, warden.get())) return 0;
    if (watched[1].revents != 0 && !copy_some(warden.get(), 1)) return 0;
  }
}

// Ends this process and the activation command if the launcher disconnects while facts are being
// gathered. Nobody reads the launcher's lines during that time, and a slow activation must not
// outlive its launcher.
class LauncherWatch {
 public:
  explicit LauncherWatch(int launcher) : launcher_(launcher) {
    // Makes orphans of the activation command our children, so that kill_children finds them.
    (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
    thread_ = std::thread([this] { work(); });
  }
  LauncherWatch(const LauncherWatch&) = delete;
  LauncherWatch& operator=(const LauncherWatch&) = delete;
  ~LauncherWatch() {
    over_.notify();
    thread_.join();
  }

 private:
  // A pipe that becomes readable once.
  class Event {
   public:
    Event() {
      int ends[2] = {-1, -1};
      (void)!::pipe2(ends, O_CLOEXEC);
      read_ = sys::Fd(ends[0]);
      write_ = sys::Fd(ends[1]);
    }
    [[nodiscard]] int descriptor() const { return read_.get(); }
    void notify() { write_ = sys::Fd(); }

   private:
    sys::Fd read_;
    sys::Fd write_;
  };

  void work() const {
    pollfd watched[2] = {{launcher_, 0, 0}, {over_.descriptor(), POLLIN, 0}};
    if (::poll(watched, 2, -1) <= 0 || watched[0].revents == 0) return;
    (void)kill_children(kChildrenEnd);
    ::_exit(kExitOwnFault);
  }

  int launcher_;
  Event over_;
  std::thread thread_;
};

// Gathers the facts and sends them. Returns the environment after activation, for the ranks, or
// nothing if no activation was requested.
std::optional<std::vector<std::string>> tell_facts(Channel& launcher, const Order& hello) {
  facts::Gathered gathered;
  {
    const LauncherWatch watch(launcher.in());
    gathered = facts::gather(hello.request.value_or(facts::Request{}));
  }
  send_all(launcher, to_line(Report{.kind = Report::Kind::kFacts, .facts = gathered.facts}));
  if (gathered.environment.empty()) return std::nullopt;
  return std::move(gathered.environment);
}

// Serves the launcher until it sends the order that decides what this agent does next, and returns
// that order. Returns nothing if the launcher has disconnected.
Result<std::optional<Order>> await_decision(Channel& launcher, const std::string& folder,
                                            Handout& handout) {
  while (auto order = await_order(launcher)) {
    if (order->kind == Order::Kind::kBeat) {
      send_all(launcher, to_line(Report{.kind = Report::Kind::kBeat, .clock_s = sys::unix_time()}));
    } else if (order->kind == Order::Kind::kListen) {
      test_reach(launcher, *order);
    } else if (order->kind == Order::Kind::kConnect || order->kind == Order::Kind::kClose) {
      // Too late: the deadline of the connection test has passed.
      continue;
    } else if (order->kind != Order::Kind::kPlace) {
      return std::optional<Order>(*std::move(order));
    } else if (!folder.empty()) {
      MUSTER_CHECK(sys::write_file(folder + "/placement", to_json(order->placement), 0600));
      handout.variables = std::move(order->variables);
    }
  }
  return std::optional<Order>();
}

Result<void> serve(Channel& launcher, const Order& hello) {
  std::string folder;
  if (!hello.run_id.empty() && hello.request) {
    MUSTER_TRY(folder, prepare_folder(hello));
  } else if (!hello.run_id.empty()) {
    // A launcher that reconnects too late must not recreate the folder that the warden has removed.
    MUSTER_TRY(folder, run_folder(hello.run_id));
    if (!sys::exists(folder))
      return unexpected(Error{.what = "the run has already ended on this host"});
  }
  Handout handout;
  if (hello.request) {
    // Gathering may take a while, so first tell the launcher that it has reached this host.
    send_all(launcher, to_line(Report{.kind = Report::Kind::kBeat, .clock_s = sys::unix_time()}));
    // Must precede the gathering, which reports the ports that are in use.
    MUSTER_CHECK(end_leftovers(hello.earlier));
    handout.activated = tell_facts(launcher, hello);
  }
  MUSTER_TRY(const auto next, await_decision(launcher, folder, handout));
  // Only `muster check` has no folder, and it needs nothing more.
  if (folder.empty()) return {};
  if (!next || next->kind != Order::Kind::kBegin) {
    // The run was rejected, or (`keep`) the user will start it by hand.
    const bool keep = next && next->kind == Order::Kind::kBye && next->keep;
    if (hello.request && keep) return leave_in_files(folder, handout);
    std::error_code error;
    if (hello.request) std::filesystem::remove_all(folder, error);
    return {};
  }
  // From now on the connection may break, and this process must survive the end of sshd.
  (void)::setsid();
  (void)std::signal(SIGHUP, SIG_IGN);
  std::error_code ignored;
  std::filesystem::current_path("/", ignored);
  HostSystem system;
  Warden warden(hello.run_id, folder, system);
  // A warden that replaces a killed one has no environment to hand out.
  MUSTER_CHECK(warden.prepare(hello.request ? std::optional(std::move(handout)) : std::nullopt));
  const Warden::Rest rest = warden.serve(std::move(launcher), next->orphan_after_s);
  clean_up(hello.run_id, folder, rest.starts, rest.keep);
  return {};
}

int run_agent() {
  (void)std::signal(SIGPIPE, SIG_IGN);
  Channel launcher(sys::Fd(::dup(0)), sys::Fd(::dup(1)));
  auto hello = await_order(launcher);
  if (!hello || hello->kind != Order::Kind::kHello) return kExitOwnFault;
  if (!hello->request) {
    const auto folder = run_folder(hello->run_id);
    if (sys::Fd warden = folder ? connect_to_warden(*folder) : sys::Fd(); warden.valid()) {
      // The channel may have read more bytes than the first line.
      const std::string_view rest = launcher.rest();
      if (!rest.empty() && ::write(warden.get(), rest.data(), rest.size()) < 0)
        return kExitOwnFault;
      launcher.close();
      return carry(std::move(warden));
    }
  }
  const auto served = serve(launcher, *hello);
  if (served) return 0;
  send_all(launcher,
           to_line(Report{.kind = Report::Kind::kFailed, .text = to_text(served.error())}));
  return kExitOwnFault;
}

int print_hash() {
  const auto hash = sys::hash_file("/proc/self/exe");
  if (!hash) return kExitOwnFault;
  std::printf("%s\n", hash->c_str());
  return 0;
}

}  // namespace

std::optional<int> agent_main(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "agent") return std::nullopt;
  if (argc == 3 && std::string_view(argv[2]) == "--hash") return print_hash();
  if (argc > 2 && std::string_view(argv[2]) == "--inspect") return inspect_main(argc - 3, argv + 3);
  if (argc != 2) {
    std::fprintf(
        stderr,
        "muster agent: muster starts this on the hosts; it is not meant to be called by hand\n");
    return 2;
  }
  return run_agent();
}

}  // namespace muster::agent
