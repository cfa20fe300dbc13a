// The warden's end of its connections to the ranks of its host: each rank tells over one what it
// does and what its program writes.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "agent/channel.hpp"
#include "agent/rank_spool.hpp"
#include "agent/record.hpp"
#include "base/error.hpp"
#include "sys/file.hpp"

namespace muster::agent {

class RankLinks {
 public:
  // Listens in the run's folder.
  [[nodiscard]] Result<void> listen(const std::string& folder);

  // What to wait for.
  void watch(std::vector<pollfd>& watched, const RankSpool& spool) const;

  // How much is read: as much as the spool has room for, or all that there is.
  enum class Reads { kWhatFits, kAll };

  // Lets new ranks in and reads what there is: starts and ends come back, output goes into the
  // spool. A rank whose connection ended without its end was killed; `gone` gets its number.
  [[nodiscard]] std::vector<Event> receive(Reads how, RankSpool& spool, std::vector<int>& gone);

 private:
  struct Link {
    Channel channel;
    int rank = -1;  // not yet known
    bool ended = false;
    bool superseded = false;  // torchrun has started the rank again: this one counts no more
  };
  // The program that was a rank last, and what was written by those that were it before: torchrun
  // may start a rank again, and then its output goes on.
  struct Life {
    ProcessId program = {};
    std::uint64_t out_before = 0;
    std::uint64_t err_before = 0;
  };

  void admit();
  void begin_life(Link& link, const RankStart& start, RankSpool& spool, std::vector<Event>& events);
  void supersede(const Link& by, RankSpool& spool, std::vector<Event>& events);
  void read(Link& link, Reads how, RankSpool& spool, std::vector<Event>& events);
  void take(Link& link, const Message& message, RankSpool& spool, std::vector<Event>& events);

  sys::Fd listener_;
  std::list<Link> links_;
  std::map<int, Life> lives_;  // by rank
};

// Connected to the warden of the run with this folder, as one of its ranks; no descriptor: there is
// no warden.
[[nodiscard]] sys::Fd connect_to_links(const std::string& folder);

// A piece of output as a rank sends it; `at`: where in the stream it begins.
[[nodiscard]] std::string output_message(sys::Stream stream, std::uint64_t at,
                                         std::string_view bytes);

}  // namespace muster::agent
