// What a rank's process, its recorder, stack tools and the kernel report about it.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "inspect/connections.hpp"
#include "inspect/flight_record.hpp"
#include "inspect/host_look.hpp"
#include "inspect/process_texts.hpp"
#include "inspect/recorder.hpp"
#include "inspect/stack_texts.hpp"
#include "inspect/system_call.hpp"
#include "require.hpp"

namespace muster::fuzz {
namespace {

constexpr std::size_t kLongestShown = 1600;  // four bytes for each of 400 characters

void require_sound_group(const inspect::Group& group) {
  require(!group.name.empty(), "a group has a name");
  require(0 <= group.done && group.done <= group.begun, "what is done was begun");
  require(group.begun <= std::int64_t{1} << 60, "a count is no nonsense");
  require(is_printable(group.name) && is_printable(group.description), "printable");
  require(is_printable(group.backend), "printable");
  require(group.operations.size() <= inspect::kMostOperations + 256, "bounded");
  std::int64_t last = 0;
  for (const inspect::Operation& one : group.operations) {
    require(one.number >= last, "operations are in order");
    last = one.number;
    require(is_printable(one.name) && is_printable(one.sizes), "printable");
    require(is_printable(one.types), "printable");
    require(one.done || one.number > group.done, "only what follows the done ones is under way");
  }
}

void check_flight_record(std::string_view text) {
  (void)inspect::tells_unfinished(text);
  auto groups = inspect::parse_flight_record(text, 1795070903.0);
  if (!groups) return;
  for (const inspect::Group& group : *groups) require_sound_group(group);
  const std::array<std::vector<inspect::Group>, 2> twice = {*groups, *groups};
  require(inspect::merge_groups(twice) == *groups, "the same record twice tells nothing new");
  inspect::set_before(*groups, twice[0]);
  for (const inspect::Group& group : *groups) {
    require(group.begun_before == group.begun, "nothing happened in between");
  }
}

void require_sound_frames(const std::vector<inspect::Frame>& frames) {
  require(frames.size() <= inspect::kMostFrames, "bounded");
  for (const inspect::Frame& frame : frames) {
    require(is_printable(frame.function) && is_printable(frame.file), "printable");
    require(frame.function.size() <= kLongestShown && frame.file.size() <= kLongestShown,
            "bounded");
    require(frame.line >= 0, "a line has a number");
  }
  require(is_printable(inspect::users_place(frames)), "printable");
}

void check_pyspy(std::string_view text) {
  require_sound_frames(inspect::parse_pyspy(text, 10493));
}

void check_faulthandler(std::string_view text) {
  require_sound_frames(inspect::parse_faulthandler(text));
}

void check_eu_stack(std::string_view text) {
  require_sound_frames(inspect::parse_eu_stack(text));
  require(!inspect::short_function(text).empty(), "a function is shown somehow");
  require(is_printable(inspect::short_function(text)), "printable");
}

void check_http(std::string_view text) {
  const auto part = inspect::parse_http(text, false);
  const auto whole = inspect::parse_http(text, true);
  require(whole.has_value(), "the end of a connection ends the answer");
  require(whole->body.size() <= text.size(), "bounded");
  require(!part || part->body == whole->body, "an answer that is whole stays the same");
}

void check_system_call(std::string_view text) {
  if (const auto call = inspect::parse_system_call(text)) {
    const auto target = [&](int /*fd*/) { return std::string(text); };
    for (const auto machine : {inspect::Machine::kX86, inspect::Machine::kArm}) {
      const std::string words = inspect::describe(*call, machine, target, text);
      require(!words.empty() && is_printable(words), "a call is shown");
      for (const bool limited : {false, true}) {
        (void)inspect::fails_after_stop(*call, machine, [limited](int, int) { return limited; });
      }
    }
  }
  require(is_printable(inspect::describe_place(text)), "printable");
}

void check_process_texts(std::string_view text) {
  require(inspect::parse_io_bytes(text) >= 0, "bytes are not negative");
  const std::string command = inspect::shortened_command(text);
  require(is_printable(command) && command.size() <= 512, "a command is short and printable");
  require(inspect::variable_in(text, "PATH").size() <= text.size(), "bounded");
  require(inspect::lock_holder(text, 7) >= 0, "a process has a number");
  (void)inspect::socket_inode_of(text);
  (void)inspect::is_python(text);
}

void require_sound_sockets(const inspect::SocketLooks& looks) {
  std::set<std::uint64_t> inodes;
  for (const auto& [inode, look] : looks) {
    require(inode != 0 && inode == look.inode, "a socket has an inode");
    require(is_printable(look.connection.local), "printable");
    inodes.insert(inode);
  }
  for (const auto& one : inspect::compare_sockets(inodes, looks, looks, 1)) {
    require(one.retransmitted == 0 && one.busy == 0, "nothing happened in between");
  }
}

void check_tcp_table(std::string_view text) {
  inspect::SocketLooks looks;
  inspect::take_tcp_table(text, looks);
  require_sound_sockets(looks);
}

void check_socket_monitor(std::string_view text) {
  inspect::SocketLooks looks;
  (void)inspect::take_sockets(text, looks);
  require_sound_sockets(looks);
}

void check_load(std::string_view text) {
  require(inspect::parse_load(text) >= 0, "a load is not negative");
}

constexpr std::array<Check, 10> kChecks = {
    check_flight_record, check_pyspy,         check_faulthandler, check_eu_stack,       check_http,
    check_system_call,   check_process_texts, check_tcp_table,    check_socket_monitor, check_load};

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return muster::fuzz::run_chosen(muster::fuzz::kChecks, data, size);
}
