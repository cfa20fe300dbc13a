#include "facts/saved_state.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/json_fields.hpp"
#include "base/json_schema.hpp"
#include "facts/facts_fields.hpp"

namespace muster::facts {

template <class V>
void fields(V& v, SavedRate& r) {
  v("to", r.to), v("to_hostname", r.to_hostname), v("how", r.how);
  v("bytes_per_second", r.bytes_per_second), v("saved_s", r.saved_s);
}

template <class V>
void fields(V& v, SavedState& s) {
  v("host", s.host), v("hostname", s.hostname), v("saved_s", s.saved_s), v("facts", s.facts);
  v("rates", s.rates);
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

Gpu worth_saving(const Gpu& gpu) {
  Gpu kept{.index = gpu.index, .vendor = gpu.vendor, .model = gpu.model, .pci = gpu.pci};
  kept.problem = gpu.problem;
  kept.memory_bytes = gpu.memory_bytes;
  kept.pcie_width = gpu.pcie_width;
  kept.pcie_gen_max = gpu.pcie_gen_max;
  kept.ecc_uncorrected = gpu.ecc_uncorrected;
  kept.mig = gpu.mig;
  kept.persistence = gpu.persistence;
  kept.nvlinks_up = gpu.nvlinks_up;
  return kept;
}

RdmaPort worth_saving(const RdmaPort& port) {
  return {.device = port.device,
          .port = port.port,
          .active = port.active,
          .link_layer = port.link_layer,
          .rate = port.rate,
          .physical_state = port.physical_state,
          .pci_address = port.pci_address,
          .firmware = port.firmware};
}

Mpi worth_saving(const Mpi& mpi) {
  return {.kind = mpi.kind, .version = mpi.version, .launcher = mpi.launcher, .library = {}};
}

template <class T>
std::vector<T> worth_saving(const std::vector<T>& items) {
  std::vector<T> kept;
  for (const T& item : items) kept.push_back(worth_saving(item));
  return kept;
}

}  // namespace

Facts worth_saving(const Facts& facts) {
  Facts kept{.host = facts.host, .hostname = facts.hostname};
  kept.os = facts.os;
  kept.kernel = facts.kernel;
  kept.cpu = {.architecture = {},
              .model = facts.cpu.model,
              .isa = facts.cpu.isa,
              .cores = facts.cpu.cores,
              .usable = facts.cpu.usable,
              .numa_nodes = facts.cpu.numa_nodes};
  kept.memory_bytes = facts.memory_bytes;
  kept.interfaces = facts.interfaces;
  kept.rdma = worth_saving(facts.rdma);
  kept.peer_memory.module = facts.peer_memory.module;
  kept.gpus = worth_saving(facts.gpus);
  kept.gpu_drivers = {.nvidia = facts.gpu_drivers.nvidia,
                      .amd = facts.gpu_drivers.amd,
                      .rocm = facts.gpu_drivers.rocm};
  kept.limits = facts.limits;
  kept.shm_bytes = facts.shm_bytes;
  kept.mpi = worth_saving(facts.mpi);
  kept.torch = {.torchrun = facts.torch.torchrun, .version = facts.torch.version};
  for (const NotSeen& one : facts.not_seen) kept.not_seen.push_back({.what = one.what, .why = {}});
  return kept;
}

bool is_of_machine(const SavedState& state, std::string_view hostname) {
  return state.hostname.empty() || hostname.empty() || state.hostname == hostname;
}

void put_rate(SavedState& state, SavedRate rate) {
  const auto known =
      std::find_if(state.rates.begin(), state.rates.end(),
                   [&](const SavedRate& one) { return one.to == rate.to && one.how == rate.how; });
  if (known != state.rates.end()) {
    *known = std::move(rate);
  } else {
    state.rates.push_back(std::move(rate));
  }
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

nlohmann::ordered_json saved_state_schema() {
  return json_schema_of<SavedState>();
}

}  // namespace muster::facts
