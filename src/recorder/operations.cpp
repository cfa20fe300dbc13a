#include "recorder/operations.hpp"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include <time.h>

namespace muster::recorder {
namespace {

constexpr std::size_t kMostRankBytes = std::size_t{3} << 20;  // the reader accepts only a few MiB

std::int64_t unix_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return (static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000) + now.tv_nsec;
}

// Returns a JSON string. Bytes that are not printable ASCII become '?'.
std::string quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += c >= ' ' && c <= '~' ? c : '?';
  }
  return json + '"';
}

template <class List, class Text>
std::string joined(const List& list, const char* separator, Text text_of) {
  std::string text;
  for (const auto& one : list) {
    if (!text.empty()) text += separator;
    text += text_of(one);
  }
  return text;
}

std::string members_text(const std::vector<int>& ranks) {
  return "[" + joined(ranks, ", ", [](int rank) { return std::to_string(rank); }) + "]";
}

}  // namespace

void Inputs::add(const char* type, std::span<const std::int64_t> sizes) {
  if (tensors_ == kMostTensors || sizes_used_ == kMostSizes) return;
  types_[tensors_] = type;
  if (sizes.size() <= kMostSizes - sizes_used_) {
    std::copy(sizes.begin(), sizes.end(), sizes_.begin() + sizes_used_);
    dimensions_[tensors_] = static_cast<std::uint8_t>(sizes.size());
  } else {
    std::uint64_t elements = 1;
    for (const std::int64_t size : sizes) elements *= static_cast<std::uint64_t>(size);
    sizes_[sizes_used_] = static_cast<std::int64_t>(elements);
    dimensions_[tensors_] = 1;
  }
  sizes_used_ = static_cast<std::uint8_t>(sizes_used_ + dimensions_[tensors_++]);
}

std::string Inputs::sizes_text() const {
  std::string text = "[";
  std::size_t at = 0;
  for (std::size_t i = 0; i < tensors_; ++i) {
    const std::span sizes(sizes_.data() + at, dimensions_[i]);
    at += sizes.size();
    text += (i > 0 ? ",[" : "[") +
            joined(sizes, ",", [](std::int64_t size) { return std::to_string(size); }) + "]";
  }
  return text + "]";
}

std::string Inputs::types_text() const {
  return "[" + joined(std::span(types_.data(), tensors_), ",", quoted) + "]";
}

GroupRecord::GroupRecord(std::uint64_t id, std::string name, std::vector<int> world_ranks)
    : id_(id),
      world_ranks_(std::move(world_ranks)),
      name_(std::move(name)),
      description_("undefined"),
      collective_ring_(kCollectivesKept),
      message_ring_(kMessagesKept) {}

void GroupRecord::set_name(const std::string& name) {
  const std::lock_guard guard(mutex_);
  if (!name.empty()) name_ = name;
}

void GroupRecord::set_description(const std::string& description) {
  const std::lock_guard guard(mutex_);
  if (!description.empty()) description_ = description;
}

Ticket GroupRecord::begin(const Begun& begun) {
  const std::int64_t now = unix_time_ns();
  const std::lock_guard guard(mutex_);
  const std::uint64_t number = begun.is_message ? ++messages_ : begun.number;
  if (!begun.is_message) collectives_ = std::max(collectives_, number);
  auto& ring = begun.is_message ? message_ring_ : collective_ring_;
  Entry& entry = ring[number % ring.size()];
  entry.begun = begun;
  entry.begun.number = number;
  entry.time_ns = now;
  entry.collectives = collectives_;
  entry.is_done = false;
  return {.number = number, .is_message = begun.is_message};
}

void GroupRecord::end(Ticket ticket) {
  const std::lock_guard guard(mutex_);
  auto& ring = ticket.is_message ? message_ring_ : collective_ring_;
  Entry& entry = ring[ticket.number % ring.size()];
  if (ticket.number != 0 && entry.begun.number == ticket.number) entry.is_done = true;
}

GroupRecord::Copied GroupRecord::copy(bool only_active) const {
  Copied copied;
  copied.entries.reserve(kCollectivesKept + kMessagesKept);
  const std::lock_guard guard(mutex_);
  copied.name = name_;
  copied.description = description_;
  copied.collectives = copied.completed = collectives_;
  for (const auto* ring : {&collective_ring_, &message_ring_}) {
    const std::uint64_t last = ring == &collective_ring_ ? collectives_ : messages_;
    for (std::uint64_t i = 1; i <= ring->size(); ++i) {
      const Entry& entry = (*ring)[(last + i) % ring->size()];
      if (entry.begun.number == 0 || (only_active && entry.is_done)) continue;
      copied.entries.push_back(entry);
      if (!entry.is_done && !entry.begun.is_message)
        copied.completed = std::min(copied.completed, entry.begun.number - 1);
    }
  }
  return copied;
}

std::shared_ptr<GroupRecord> Operations::add(std::string name, std::vector<int> world_ranks) {
  const std::lock_guard guard(mutex_);
  if (groups_.size() >= kGroupsKept) {
    const auto unused =
        std::ranges::find_if(groups_, [](const auto& group) { return group.use_count() == 1; });
    if (unused == groups_.end()) return nullptr;
    groups_.erase(unused);
  }
  groups_.push_back(
      std::make_shared<GroupRecord>(groups_made_++, std::move(name), std::move(world_ranks)));
  return groups_.back();
}

std::string Operations::json(bool only_active) const {
  std::vector<std::shared_ptr<GroupRecord>> groups;
  {
    const std::lock_guard guard(mutex_);
    groups = groups_;
  }
  const auto member = [](const char* name, const std::string& value) {
    return quoted(name) + ":" + value;
  };
  std::vector<std::string> entries;
  std::vector<std::string> configuration;
  std::vector<std::string> status;
  std::size_t rank_bytes = 0;
  std::set<std::string> names;
  for (const auto& group : std::views::reverse(groups)) {
    const GroupRecord::Copied copied = group->copy(only_active);
    // A program may destroy a group and reuse its name. The new group counts from 1 again and
    // replaces the old one here.
    if (!names.insert(copied.name).second) continue;
    const std::string id = std::to_string(group->id_);
    for (const GroupRecord::Entry& entry : copied.entries) {
      const Begun& begun = entry.begun;
      const auto number = std::to_string(begun.number);
      entries.push_back(
          "{" +
          joined(std::vector{member("collective_seq_id",
                                    begun.is_message ? std::to_string(entry.collectives) : number),
                             member("p2p_seq_id", begun.is_message ? number : "0"),
                             member("input_dtypes", begun.inputs.types_text()),
                             member("input_sizes", begun.inputs.sizes_text()),
                             member("is_p2p", begun.is_message ? "true" : "false"),
                             member("pg_id", id),
                             member("process_group", "[" + quoted(copied.name) + "," +
                                                         quoted(copied.description) + "]"),
                             member("profiling_name", quoted(backend_ + ":" + begun.name)),
                             member("retired", entry.is_done ? "true" : "false"),
                             member("state", entry.is_done ? "\"completed\"" : "\"started\""),
                             member("time_created_ns", std::to_string(entry.time_ns)),
                             member("timeout_ms", std::to_string(begun.timeout.count()))},
                 ",", [](const std::string& text) { return text; }) +
          "}");
    }
    if (only_active) continue;
    std::string ranks = members_text(group->world_ranks_);
    rank_bytes += ranks.size();
    if (rank_bytes > kMostRankBytes) ranks = "[]";
    configuration.push_back(
        quoted(copied.name) + ":{" + member("desc", quoted(copied.description)) + "," +
        member("name", quoted(copied.name)) + "," + member("ranks", quoted(ranks)) + "}");
    status.push_back(
        quoted(id) + ":{" +
        member("last_completed_collective", quoted(std::to_string(copied.completed))) + "," +
        member("last_enqueued_collective", quoted(std::to_string(copied.collectives))) + "}");
  }
  const auto all = [](const std::vector<std::string>& list) {
    return joined(list, ",", [](const std::string& text) { return text; });
  };
  return R"({"entries":[)" + all(entries) + R"(],"pg_config":{)" + all(configuration) +
         R"(},"pg_status":{)" + all(status) + "}}";
}

}  // namespace muster::recorder
