// The good state of a host, as `muster check --save` and `muster bench pairs --save` keep it, so
// that later commands can say what has changed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "facts/facts.hpp"

namespace muster::facts {

// What `muster bench pairs` measured from the host to another one.
struct SavedRate {
  std::string to;
  std::string to_hostname = {};  // what that host called itself; empty: not known
  std::string how;  // backend, engine and network: rates of different ones are not comparable
  double bytes_per_second = 0;
  double saved_s = 0;  // Unix time
};

// Facts and rates of one machine.
struct SavedState {
  std::string host;
  std::string hostname = {};  // what the machine calls itself; empty: not known
  double saved_s = 0;         // Unix time of the facts
  std::optional<Facts> facts = std::nullopt;
  std::vector<SavedRate> rates = {};
  std::string problem = {};  // why the state cannot be used; not in JSON
};

// Only the facts that a comparison uses or shows.
[[nodiscard]] Facts worth_saving(const Facts& facts);

// False if the state was saved for a machine with another hostname. An empty hostname is not known.
[[nodiscard]] bool is_of_machine(const SavedState& state, std::string_view hostname);

// Replaces the rate of the same link, measured in the same way.
void put_rate(SavedState& state, SavedRate rate);

// "2026-11-02", in UTC.
[[nodiscard]] std::string date_text(double unix_s);

[[nodiscard]] std::string to_json(const SavedState& state);  // one line
// Hostile until parsed. Facts that muster did not know yet when it wrote the file are as in
// Facts{}.
[[nodiscard]] Result<SavedState> parse_saved_state(const std::string& json);
[[nodiscard]] nlohmann::ordered_json saved_state_schema();

}  // namespace muster::facts
