#include "facts/saved_state.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/json_fields.hpp"
#include "facts/facts_fields.hpp"

namespace muster::facts {

template <class V>
void fields(V& v, SavedRate& r) {
  v("to", r.to), v("how", r.how), v("bytes_per_second", r.bytes_per_second);
  v("saved_s", r.saved_s);
}

template <class V>
void fields(V& v, SavedState& s) {
  v("host", s.host), v("saved_s", s.saved_s), v("facts", s.facts), v("rates", s.rates);
}

namespace {

constexpr JsonLimits kOfAnyVersion{.may_lack_fields = true};

bool is_time(double unix_s) {
  constexpr double kYear10000 = 253402300800;
  return unix_s >= 0 && unix_s < kYear10000;
}

bool is_rate(double bytes_per_second) {
  constexpr double kMost = 1e15;
  return bytes_per_second > 0 && bytes_per_second < kMost;
}

bool is_possible(const SavedState& state) {
  return is_time(state.saved_s) &&
         std::all_of(state.rates.begin(), state.rates.end(), [](const SavedRate& rate) {
           return is_time(rate.saved_s) && is_rate(rate.bytes_per_second);
         });
}

template <class Rates>
auto place_of(Rates& rates, std::string_view to, std::string_view how) {
  return std::find_if(rates.begin(), rates.end(),
                      [&](const SavedRate& one) { return one.to == to && one.how == how; });
}

}  // namespace

Facts worth_saving(Facts facts) {
  facts.listeners.clear();
  facts.ssh_files.clear();
  facts.program.reset();
  facts.script.reset();
  facts.software.reset();
  facts.environment = {};
  facts.shm_free_bytes = -1;
  for (Gpu& gpu : facts.gpus) {
    gpu.processes.clear();
    gpu.xids.clear();
    gpu.throttled_by.clear();
    gpu.memory_used_bytes = -1;
  }
  return facts;
}

void put_rate(SavedState& state, SavedRate rate) {
  const auto known = place_of(state.rates, rate.to, rate.how);
  if (known != state.rates.end()) {
    *known = std::move(rate);
  } else {
    state.rates.push_back(std::move(rate));
  }
}

const SavedRate* find_rate(const SavedState& state, std::string_view to, std::string_view how) {
  const auto found = place_of(state.rates, to, how);
  return found == state.rates.end() ? nullptr : &*found;
}

std::string date_text(double unix_s) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm utc{};
  (void)::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc)};
}

std::string to_json(const SavedState& state) {
  return json_of_fields(state);
}

Result<SavedState> parse_saved_state(const std::string& json) {
  const char* const refusal = "this is not the saved state of a host";
  MUSTER_TRY(SavedState state, parse_fields<SavedState>(json, refusal, kOfAnyVersion));
  if (is_possible(state)) return state;
  return unexpected(Error{.what = std::string(refusal) + ": a date or a rate is impossible"});
}

}  // namespace muster::facts
