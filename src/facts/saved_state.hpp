// The good state of a host, which `muster check --save` and `muster bench pairs --save` store so
// that later commands can find changes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "facts/facts.hpp"

namespace muster::facts {

// A rate that `muster bench pairs` measured from the host to another one.
struct SavedRate {
  std::string to;
  std::string to_hostname = {};  // hostname that the other host reported; empty: unknown
  // Backend, engine and network of the measurement. Only rates with the same text can be compared.
  std::string how;
  double bytes_per_second = 0;
  double saved_s = 0;  // Unix time
};

// The facts and rates of one machine.
struct SavedState {
  std::string host;
  std::string hostname = {};  // hostname that the machine reported; empty: unknown
  double saved_s = 0;         // Unix time at which the facts were gathered
  std::optional<Facts> facts = std::nullopt;
  std::vector<SavedRate> rates = {};
  std::string problem = {};  // why the state cannot be used; not in the JSON form
};

// Returns a copy with only the facts that comparisons use or show.
[[nodiscard]] Facts worth_saving(const Facts& facts);

// Returns false if the state was saved for a machine with another hostname. An empty hostname is
// unknown, and matches every machine.
[[nodiscard]] bool is_of_machine(const SavedState& state, std::string_view hostname);

// Adds the rate. If there is one with the same `to` and `how`, replaces it.
void put_rate(SavedState& state, SavedRate rate);

// Returns "2026-11-02", in UTC.
[[nodiscard]] std::string date_text(double unix_s);

[[nodiscard]] std::string to_json(const SavedState& state);  // one line
// Rejects invalid input. Facts that an older muster did not write have the values of Facts{}.
[[nodiscard]] Result<SavedState> parse_saved_state(const std::string& json);
[[nodiscard]] nlohmann::ordered_json saved_state_schema();

}  // namespace muster::facts
