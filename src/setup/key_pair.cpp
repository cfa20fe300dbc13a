#include "setup/key_pair.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "sys/file.hpp"
#include "sys/process.hpp"

namespace muster::setup {

Result<void> make_key_pair(const std::string& path, const std::string& comment) {
  const std::string draft = path + ".new";
  // A killed call may have left these files; ssh-keygen would ask before replacing them.
  ::unlink(draft.c_str());
  ::unlink((draft + ".pub").c_str());
  MUSTER_TRY(const sys::Ended ended, sys::run({.argv = {"ssh-keygen", "-q", "-t", "ed25519", "-N",
                                                        "", "-C", comment, "-f", draft}}));
  if (!ended.ok()) {
    return unexpected(Error{.what = fmt::format("ssh-keygen failed ({}): {}", sys::to_text(ended),
                                                printable_lines(ended.err)),
                            .where = {.file = path}});
  }
  MUSTER_CHECK(sys::move_file(draft + ".pub", path + ".pub"));
  return sys::move_file(draft, path);
}

}  // namespace muster::setup
