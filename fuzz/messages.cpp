// Messages from a host to the launcher and from a rank to its host's warden, in pieces, and the
// launcher's handling of a rank's output.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>

#include "agent/inbox.hpp"
#include "agent/protocol.hpp"
#include "own_folder.hpp"
#include "require.hpp"
#include "run/builds.hpp"
#include "run/last_words.hpp"
#include "run/output.hpp"

namespace muster::fuzz {
namespace {

constexpr int kRanks = 4;

class Receiver {
 public:
  Receiver() {
    auto opened =
        run::Output::open(own_folder().path(), kRanks, {.watch = [this](auto, const auto& line) {
                            require(line.rank >= 0 && line.rank < kRanks, "only ranks of the job");
                            require(line.text.find('\n') == line.text.size() - 1, "whole lines");
                            shown_ += line.text.size();
                          }});
    require(opened.has_value(), "output can be stored");
    output_ = *std::move(opened);
  }
  ~Receiver() {
    std::error_code error;
    std::filesystem::remove_all(own_folder().path() + "/ranks", error);
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void take(const agent::Piece& piece) {
    const bool is_ours = piece.rank >= 0 && piece.rank < kRanks;
    require(output_->take("n1", piece) == is_ours, "others' output is refused");
    if (!is_ours) return;
    std::uint64_t& end = ends_[{piece.rank, piece.stream}];
    const std::uint64_t before = end;
    end = std::max(end, piece.at + piece.bytes.size());
    expected_ += std::min<std::uint64_t>(end - before, piece.bytes.size());
    for (const agent::Taken& taken : output_->taken("n1")) {
      require(taken.out == ends_[{taken.rank, sys::Stream::kOut}], "counted once");
      require(taken.err == ends_[{taken.rank, sys::Stream::kErr}], "counted once");
    }
  }

  void finish() {
    output_->finish();
    // Output may add a newline at the end of each stream.
    require(shown_ >= expected_ && shown_ <= expected_ + 2 * kRanks, "shown once");
    for (int rank = 0; rank < kRanks; ++rank) {
      for (const std::string& line : output_->last_errors(rank, 5)) {
        require(is_printable(line), "quoted lines are printable");
        (void)run::abort_code(0, line);
        (void)run::says_timed_out(line);
      }
      (void)run::reported_error(output_->last_errors(rank, 50), rank);
      (void)run::reported_cut_off(output_->last_errors(rank, 50));
    }
  }

 private:
  std::unique_ptr<run::Output> output_;
  std::map<std::pair<int, sys::Stream>, std::uint64_t> ends_;
  std::uint64_t expected_ = 0;
  std::uint64_t shown_ = 0;
};

void check_report(const agent::Message& message, std::unique_ptr<Receiver>& receiver) {
  const auto report = agent::parse_report(message);
  if (!report) return require_printable(to_text(report.error()));
  require(report->piece.bytes.size() <= agent::kMaxPayload, "output is what came");
  if (report->kind != agent::Report::Kind::kOutput) {
    const std::string line = to_line(*report);
    const auto again =
        agent::parse_report({.line = line.substr(0, line.size() - 1), .payload = ""});
    require(again && to_line(*again) == line, "a report is read back");
    return;
  }
  if (!receiver) receiver = std::make_unique<Receiver>();
  receiver->take(report->piece);
}

// `err` is what a host's shell printed because muster was missing there.
void check_machine(std::string_view err) {
  const std::string machine = run::machine_named(run::told_machine(err));
  require(is_printable(machine) && machine.find('/') == std::string::npos, "a name or nothing");
}

void check(std::string_view bytes) {
  check_machine(bytes);
  agent::Inbox inbox;
  std::unique_ptr<Receiver> receiver;
  constexpr std::size_t kPiece = 7;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    inbox.add(bytes.substr(at, kPiece));
    while (const auto message = inbox.next()) {
      require(message->payload.size() <= agent::kMaxPayload, "payloads have a limit");
      const auto order = agent::parse_order(message->line);
      if (!order) require_printable(to_text(order.error()));
      check_report(*message, receiver);
    }
  }
  if (receiver) receiver->finish();
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
