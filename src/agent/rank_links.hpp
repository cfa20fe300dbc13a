// The warden's end of its connections to the ranks of its host. Over its connection, each rank
// reports its start, its program's output and its end. A rank also sends the descriptors from which
// it reads the output, so that no output is lost if the rank process is killed. Slurm, for example,
// kills rank and program together when the program calls MPI_Abort.
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

  // Adds the descriptors to poll.
  void watch(std::vector<pollfd>& watched, const RankSpool& spool) const;

  // The ranks that have output which is not read, because the spool has no room for it.
  [[nodiscard]] std::vector<int> held_back(const RankSpool& spool) const;

  // How much to read: only what the spool has room for, or everything that has arrived.
  enum class Reads { kWhatFits, kAll };

  // Accepts new ranks and reads what has arrived. Returns starts and ends, and puts output into the
  // spool. If a connection closed before its rank reported an end, the rank was killed; its number
  // is added to `gone`.
  [[nodiscard]] std::vector<Event> receive(Reads how, RankSpool& spool, std::vector<int>& gone);

 private:
  struct Link {
    Channel channel;
    int rank = -1;  // -1: not yet known
    bool ended = false;
    // torchrun has started the rank again, so this connection is ignored.
    bool superseded = false;
    std::vector<sys::Fd> outputs = {};  // from which the rank reads its program's output
  };
  // A rank's current program, and how much its earlier programs wrote. torchrun may start a rank
  // again, and its streams then continue.
  struct Life {
    ProcessId program = {};
    std::uint64_t out_before = 0;
    std::uint64_t err_before = 0;
  };

  void admit();
  void begin_life(Link& link, const RankStart& start, RankSpool& spool, std::vector<Event>& events);
  void supersede(const Link& by, RankSpool& spool, std::vector<Event>& events);
  void read(Link& link, Reads how, RankSpool& spool, std::vector<Event>& events);
  static void read_unread(Link& link, RankSpool& spool);
  void take(Link& link, const Message& message, RankSpool& spool, std::vector<Event>& events);

  sys::Fd listener_;
  std::list<Link> links_;
  std::map<int, Life> lives_;  // by rank
};

// Connects a rank to the warden of the run with this folder. Invalid if there is no warden.
[[nodiscard]] sys::Fd connect_to_links(const std::string& folder);

// Sends the descriptors from which the rank reads. Must come first on a connection.
void hand_over_outputs(int connection, int out, int err);

// A piece of output in the form that a rank sends it; `at` is its position in the stream.
[[nodiscard]] std::string output_message(sys::Stream stream, std::uint64_t at,
                                         std::string_view bytes);

}  // namespace muster::agent
