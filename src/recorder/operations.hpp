// Keeps the latest operations of each group for `muster why`, in the JSON format of PyTorch's
// flight recorder. PyTorch's own recorder does not accept entries from other backends.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::recorder {

constexpr std::size_t kCollectivesKept = 64;  // per group
constexpr std::size_t kMessagesKept = 32;     // per group
constexpr std::size_t kGroupsKept = 128;      // if there are more, destroyed ones are dropped

// Sizes and types of an operation's inputs, as many as fit.
class Inputs {
 public:
  static constexpr std::size_t kMostTensors = 4;
  static constexpr std::size_t kMostSizes = 8;  // of all tensors together

  // `type` is PyTorch's name, such as "Float", and is not copied. A tensor with too many dimensions
  // is recorded as one dimension with all its elements.
  void add(const char* type, std::span<const std::int64_t> sizes);

  [[nodiscard]] std::string sizes_text() const;
  [[nodiscard]] std::string types_text() const;

 private:
  std::array<std::int64_t, kMostSizes> sizes_;
  std::array<const char*, kMostTensors> types_;
  std::array<std::uint8_t, kMostTensors> dimensions_;
  std::uint8_t tensors_ = 0;
  std::uint8_t sizes_used_ = 0;
};

// An operation as it begins. `name` is not copied.
struct Begun {
  const char* name = "";
  // Counts the collectives of the group from 1. Not used for messages, which GroupRecord counts.
  std::uint64_t number = 0;
  bool is_message = false;
  std::chrono::milliseconds timeout{};
  Inputs inputs = {};
};

// Identifies an operation from begin() to end().
struct Ticket {
  std::uint64_t number = 0;  // 0: not recorded
  bool is_message = false;
};

class GroupRecord {
 public:
  // `world_ranks`: the members, as ranks of the whole job.
  GroupRecord(std::uint64_t id, std::string name, std::vector<int> world_ranks);

  // The name must be the same on all members.
  void set_name(const std::string& name);
  void set_description(const std::string& description);

  Ticket begin(const Begun& begun);
  void end(Ticket ticket);

 private:
  friend class Operations;

  struct Entry {
    Begun begun;
    std::int64_t time_ns = 0;  // wall clock
    std::uint64_t collectives = 0;
    bool is_done = false;
  };
  struct Copied {
    std::string name;
    std::string description;
    std::uint64_t collectives = 0;
    std::uint64_t completed = 0;  // all collectives up to this one have completed
    std::vector<Entry> entries;   // collectives, oldest first, then messages
  };

  [[nodiscard]] Copied copy(bool only_active) const;

  const std::uint64_t id_;
  const std::vector<int> world_ranks_;
  mutable std::mutex mutex_;
  std::string name_;
  std::string description_;
  std::uint64_t collectives_ = 0;
  std::uint64_t messages_ = 0;
  std::vector<Entry> collective_ring_;
  std::vector<Entry> message_ring_;
};

class Operations {
 public:
  explicit Operations(std::string backend) : backend_(std::move(backend)) {}

  // Returns null when there are too many groups. The record is kept until its room is needed, even
  // after its last owner is gone.
  [[nodiscard]] std::shared_ptr<GroupRecord> add(std::string name, std::vector<int> world_ranks);
  // Returns the records as JSON; with `only_active`, only operations that have not ended.
  [[nodiscard]] std::string json(bool only_active) const;

 private:
  const std::string backend_;
  mutable std::mutex mutex_;
  std::uint64_t groups_made_ = 0;
  std::vector<std::shared_ptr<GroupRecord>> groups_;
};

}  // namespace muster::recorder
