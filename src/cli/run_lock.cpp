#include "cli/run_lock.hpp"

#include <chrono>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>

#include "run/folder.hpp"
#include "run/keeper.hpp"

namespace muster::cli {

Result<sys::Fd> lock_run(const std::string& base) {
  const std::string path = run::runs_folder() + "/" + base;
  sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return unexpected(system_error("cannot open the run's folder", path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = fmt::format("another muster process is already starting {} again", base),
            .hint = fmt::format("to follow the run: muster attach {}", base)});
}

Result<void> await_end(const std::string& attempt) {
  constexpr std::chrono::seconds kKeeperTakes{20};
  const auto until = std::chrono::steady_clock::now() + kKeeperTakes;
  while (run::is_being_ended(attempt)) {
    if (std::chrono::steady_clock::now() > until) {
      return unexpected(Error{
          .what =
              fmt::format("muster is still ending the processes of {} on this machine", attempt),
          .hint = "try again later; if the run's mpirun does not end, look for it with: ps x"});
    }
    (void)::poll(nullptr, 0, 50);
  }
  return {};
}

}  // namespace muster::cli
