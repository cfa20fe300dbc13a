#include "programs/bench/operations.hpp"

#include <array>
#include <climits>
#include <utility>

namespace muster::programs::bench {
namespace {

constexpr std::int64_t kElement = sizeof(float);

constexpr std::array kNames = {
    std::pair(Operation::kAllReduce, "all-reduce"),
    std::pair(Operation::kAllGather, "all-gather"),
    std::pair(Operation::kReduceScatter, "reduce-scatter"),
    std::pair(Operation::kBroadcast, "broadcast"),
    std::pair(Operation::kAllToAll, "all-to-all"),
    std::pair(Operation::kSendReceive, "send-recv"),
    std::pair(Operation::kBarrier, "barrier"),
};

// Whether each rank has its own part of the data.
bool deals_out(Operation operation) {
  return operation == Operation::kAllGather || operation == Operation::kReduceScatter ||
         operation == Operation::kAllToAll;
}

}  // namespace

std::optional<Operation> operation_of(const std::string& name) {
  for (const auto& [operation, text] : kNames)
    if (name == text) return operation;
  return std::nullopt;
}

const char* name_of(Operation operation) {
  for (const auto& [each, text] : kNames)
    if (each == operation) return text;
  return "";
}

std::string operation_names() {
  std::string all;
  for (const auto& [operation, text] : kNames) all += (all.empty() ? "" : ",") + std::string(text);
  return all;
}

std::vector<std::int64_t> sizes_of(Operation operation, int ranks, std::int64_t min,
                                   std::int64_t max, int factor) {
  if (operation == Operation::kBarrier) return {0};
  const std::int64_t unit = kElement * (deals_out(operation) ? ranks : 1);
  std::vector<std::int64_t> sizes;
  for (std::int64_t wanted = min; wanted <= max; wanted *= factor) {
    const std::int64_t bytes = wanted / unit * unit;
    if (bytes > 0 && (sizes.empty() || sizes.back() != bytes)) sizes.push_back(bytes);
    if (wanted > max / factor) break;  // the next size could overflow
  }
  return sizes;
}

std::int64_t most_bytes(const std::string& backend) {
  return backend == "bare" ? kElement * INT_MAX : INT64_MAX;
}

Shape shape_of(Operation operation, int ranks, std::int64_t bytes) {
  const auto all = static_cast<std::size_t>(bytes / kElement);
  const std::size_t part = all / static_cast<std::size_t>(ranks);
  switch (operation) {
    case Operation::kAllGather:
      return {.from = part, .to = all};
    case Operation::kReduceScatter:
      return {.from = all, .to = part};
    case Operation::kAllToAll:
    case Operation::kSendReceive:
      return {.from = all, .to = all};
    default:
      return {.from = all};
  }
}

double bus_factor(Operation operation, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  if (operation == Operation::kAllReduce) return 2 * others;
  return deals_out(operation) ? others : 1;
}

}  // namespace muster::programs::bench
