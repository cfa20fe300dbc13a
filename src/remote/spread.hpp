// Lets hosts send the files to each other, so that this machine need not send them to each host.
// This is only an optimisation: whatever fails here, an ordinary copy from this machine must
// follow.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "remote/file_list.hpp"
#include "remote/sync.hpp"
#include "remote/transport.hpp"
#include "sys/live_line.hpp"

namespace muster::remote {

struct Spread {
  SyncOptions options;
  const FileList& files;   // of options.from
  std::string rsync_here;  // the output of rsync --version on this machine
  std::size_t fan_out = 16;
  std::chrono::seconds timeout = std::chrono::hours(24);  // for one host
  sys::OnProgress on_progress = nullptr;
};

struct SpreadHost {
  std::string name;
  std::string rsync;  // the output of rsync --version
};

struct Spreading {
  struct Copy {
    Changes changes;
    bool from_here = false;  // the last transfer; else from another host
    bool verified = false;
  };
  struct Failure {
    std::string receiver;
    std::string why;
  };
  struct Left {
    std::string host;
    std::string folder;
  };
  std::string digest;                       // of the files here
  std::map<std::string, Copy> copies = {};  // by host
  std::vector<Failure> failures = {};       // transfers between hosts
  std::vector<Left> not_removed = {};       // temporary folders that may be left on hosts
  int signal = 0;                           // the signal that ended the work; 0: none
};

// Sends to some hosts, which send to others, and so on, until all have verified copies or nothing
// more can be done. Fails if the files here cannot be hashed. At most fan_out local processes talk
// to hosts at a time. Ctrl-C ends it in order: the temporary folders on the hosts are removed
// before it returns. A second Ctrl-C does not wait for that.
[[nodiscard]] Result<Spreading> spread(const Spread& what, Transport& transport,
                                       std::span<const SpreadHost> hosts);

}  // namespace muster::remote
