#include "agent/store_server.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "agent/processes.hpp"
#include "agent/program.hpp"
#include "base/endpoint.hpp"
#include "base/printable.hpp"
#include "sys/file.hpp"
#include "sys/socket_address.hpp"

namespace muster::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kServerEnds{2000};

// Once it serves, the script closes its copy of the rank's stderr, because the runner reads stderr
// until all writers have closed it.
constexpr const char* kServe = R"(import sys
sys.path = [path for path in sys.path if path]
import os, signal
from torch.distributed import TCPStore
address, port, socket = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = TCPStore(address, port, is_master=True, wait_for_workers=False, master_listen_fd=socket)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
while True:
    signal.pause()
)";

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// The socket is not close-on-exec, because the program that is started next inherits it.
Result<sys::Fd> listen_at(const std::string& address, const std::string& port_text) {
  std::uint16_t port = 0;
  (void)std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  const auto at = sys::parse_socket_address(address, port);
  const auto failed = [&](const std::string& why) {
    return unexpected(
        Error{.what = fmt::format("PyTorch's store cannot listen at {} only: {}",
                                  printable(endpoint_text(address, port_text)), why),
              .hint = "leave out --confine-store, or name an address of rank 0's host with "
                      "--master-addr and a free port with --master-port"});
  };
  if (!at || port == 0) return failed("this is not an address and a port");
  sys::Fd socket(::socket(at->family(), SOCK_STREAM, 0));
  const int on = 1;
  if (!socket.valid() ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), at->pointer(), at->length) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return failed(std::strerror(errno));
  }
  return socket;
}

}  // namespace

Result<ProcessId> start_server(const StoreServer& server) {
  const std::string address = value_of(server.environment, "MASTER_ADDR");
  const std::string port = value_of(server.environment, "MASTER_PORT");
  MUSTER_TRY(const sys::Fd socket, listen_at(address, port));
  const sys::Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const std::vector<std::string> words = {server.python, "-c", kServe,
                                          address,       port, std::to_string(socket.get())};
  MUSTER_TRY(const Launched launched, launch({.program = words,
                                              .environment = server.environment,
                                              .out = nowhere.get(),
                                              .err = server.err,
                                              .signals = server.signals}));
  if (const int error = launch_error(launched); error != 0) {
    return unexpected(Error{.what = fmt::format("cannot run '{}': {}", printable(server.python),
                                                std::strerror(error))});
  }
  return identify(launched.pid).value_or(ProcessId{.pid = launched.pid});
}

void end_server(const ProcessId& server) {
  send_signal(server, SIGKILL);
  const auto until = std::chrono::steady_clock::now() + kServerEnds;
  // waitpid returns -1 if another part of this process has already reaped the server.
  while (::waitpid(server.pid, nullptr, WNOHANG) == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(1));
  }
}

}  // namespace muster::agent
