#include <cstdint>
#include <string_view>

#include "agent/inbox.hpp"
#include "agent/protocol.hpp"
#include "hosts/property.hpp"

namespace muster::fuzz {
namespace {

// What a host sends to the launcher, and what a rank sends to the warden of its host, in pieces.
void check(std::string_view bytes) {
  agent::Inbox inbox;
  constexpr std::size_t kPiece = 7;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    inbox.add(bytes.substr(at, kPiece));
    while (const auto message = inbox.next()) {
      require(message->payload.size() <= agent::kMaxPayload, "payloads have a limit");
      (void)agent::parse_order(message->line);
      (void)agent::parse_event(message->line);
      const auto report = agent::parse_report(*message);
      if (!report) continue;
      require(report->text == printable(report->text), "hostile bytes do not reach a terminal");
      require(report->piece.bytes.size() <= agent::kMaxPayload, "output is what came");
    }
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
