#include "inspect/flight_record.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/lower_case.hpp"
#include "base/printable.hpp"
#include "facts/pseudo_file.hpp"

namespace muster::inspect {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostEntries = 65536;
constexpr std::size_t kMostGroups = 1024;
constexpr std::size_t kMostMembers = 65536;
constexpr std::size_t kMostUnfinished = 256;
constexpr std::size_t kLongestName = 200;
constexpr std::size_t kMostTensors = 16;
constexpr std::size_t kMostSizes = 8;
constexpr std::int64_t kMostCollectives = std::int64_t{1} << 60;

const Json& member(const Json& object, const char* name) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::string text_of(const Json& json) {
  if (!json.is_string()) return {};
  const auto& text = json.get_ref<const std::string&>();
  return printable(std::string_view(text).substr(0, kLongestName));
}

// Some recorders write numbers as strings. Returns 0 if the value is not a number.
std::int64_t whole_number(const Json& json) {
  std::int64_t value = 0;
  if (json.is_number_unsigned()) {
    value = static_cast<std::int64_t>(
        std::min<std::uint64_t>(json.get<std::uint64_t>(), static_cast<std::uint64_t>(INT64_MAX)));
  } else if (json.is_number_integer()) {
    value = json.get<std::int64_t>();
  } else if (json.is_string()) {
    value = facts::number<std::int64_t>(json.get_ref<const std::string&>()).value_or(0);
  }
  return value;
}

bool is_true(const Json& json) {
  return json.is_boolean() && json.get<bool>();
}

// Turns PyTorch's C++ names of data types into those of Python.
std::string type_name(const std::string& name) {
  constexpr std::pair<std::string_view, const char*> kKnown[] = {{"Float", "float32"},
                                                                 {"Double", "float64"},
                                                                 {"Half", "float16"},
                                                                 {"BFloat16", "bfloat16"},
                                                                 {"Byte", "uint8"},
                                                                 {"Char", "int8"},
                                                                 {"Short", "int16"},
                                                                 {"Int", "int32"},
                                                                 {"Long", "int64"},
                                                                 {"Bool", "bool"},
                                                                 {"ComplexFloat", "complex64"},
                                                                 {"ComplexDouble", "complex128"}};
  for (const auto& [torch_name, python_name] : kKnown) {
    if (name == torch_name) return python_name;
  }
  return lower_case(name);
}

std::string types_text(const Json& json) {
  std::string text;
  if (!json.is_array()) return text;
  for (std::size_t i = 0; i < std::min(json.size(), kMostTensors); ++i) {
    if (i > 0) text += ", ";
    text += type_name(text_of(json[i]));
  }
  return json.size() > kMostTensors ? text + ", ..." : text;
}

std::string one_size(const Json& json) {
  std::string text = "[";
  for (std::size_t i = 0; json.is_array() && i < std::min(json.size(), kMostSizes); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", whole_number(json[i]));
  }
  return text + (json.is_array() && json.size() > kMostSizes ? ", ...]" : "]");
}

std::string sizes_text(const Json& json) {
  if (!json.is_array() || json.empty()) return {};
  std::string text = "[";
  for (std::size_t i = 0; i < std::min(json.size(), kMostTensors); ++i) {
    text += (i > 0 ? ", " : "") + one_size(json[i]);
  }
  return text + (json.size() > kMostTensors ? ", ...]" : "]");
}

struct Entry {
  Operation operation;
  double begun_s = 0;  // Unix time
};

struct Recorded {
  std::string description;
  std::vector<Entry> entries;
};

using GroupKey = std::pair<std::string, std::string>;  // name and backend of a group

// Turns nanoseconds of Unix time into seconds. A double can hold them with microsecond precision,
// which is enough.
double seconds_of_ns(const Json& json) {
  return static_cast<double>(whole_number(json)) / 1e9;
}

struct Parsed {
  std::map<GroupKey, Recorded> groups;
  // The keys in `groups`, by the number that PyTorch gives each group in this process.
  std::map<std::int64_t, GroupKey> keys;
};

void take_entry(const Json& json, double unix_time, Parsed& parsed) {
  const Json& group = member(json, "process_group");
  if (!group.is_array() || group.empty()) return;
  const std::string profiled = text_of(member(json, "profiling_name"));
  const std::size_t colon = profiled.find(':');
  GroupKey key{text_of(group[0]), colon == std::string::npos ? "" : profiled.substr(0, colon)};
  if (key.first.empty()) return;
  if (parsed.groups.size() >= kMostGroups && !parsed.groups.contains(key)) return;
  parsed.keys.emplace(whole_number(member(json, "pg_id")), key);
  Recorded& recorded = parsed.groups[key];
  if (group.size() > 1) recorded.description = text_of(group[1]);
  const std::int64_t number = whole_number(member(json, "collective_seq_id"));
  if (is_true(member(json, "is_p2p")) || number < 1 || number > kMostCollectives) return;
  Entry entry{.begun_s = seconds_of_ns(member(json, "time_created_ns"))};
  entry.operation = {
      .name = colon == std::string::npos ? profiled : profiled.substr(colon + 1),
      .number = number,
      .sizes = sizes_text(member(json, "input_sizes")),
      .types = types_text(member(json, "input_dtypes")),
      .age_s = entry.begun_s > 0 ? std::max(0.0, unix_time - entry.begun_s) : 0,
      .timeout_s = static_cast<double>(whole_number(member(json, "timeout_ms"))) / 1e3,
      // Gloo never changes the state "scheduled"; it only marks completed operations as retired.
      .done = is_true(member(json, "retired")) || text_of(member(json, "state")) == "completed"};
  recorded.entries.push_back(std::move(entry));
}

Group group_of(const GroupKey& key, Recorded recorded) {
  Group group{.name = key.first, .description = recorded.description, .backend = key.second};
  std::vector<Entry>& entries = recorded.entries;
  std::ranges::stable_sort(entries, {}, [](const Entry& one) { return one.operation.number; });
  std::int64_t first_unfinished = 0;
  double last_begun_s = 0;
  for (const Entry& entry : entries) {
    group.begun = entry.operation.number;
    if (!entry.operation.done && first_unfinished == 0) first_unfinished = entry.operation.number;
    if (last_begun_s > 0) {
      group.longest_gap_s = std::max(group.longest_gap_s, entry.begun_s - last_begun_s);
    }
    last_begun_s = entry.begun_s;
  }
  // Counts all operations before the first unfinished one as done. The recorder drops its oldest
  // entries, which were completed.
  group.done = first_unfinished == 0 ? group.begun : first_unfinished - 1;
  std::size_t unfinished = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool is_late = entries.size() - i <= kMostOperations;
    const bool is_wanted = !entries[i].operation.done && unfinished++ < kMostUnfinished;
    if (is_late || is_wanted) group.operations.push_back(std::move(entries[i].operation));
  }
  return group;
}

// Fills in the counts of groups for which no collective is recorded any more. The counts in
// `status` include operations of all kinds, so they are less precise than the numbers of
// collectives.
void take_status(const Json& status, const Parsed& parsed, std::vector<Group>& groups) {
  if (!status.is_object()) return;
  for (const auto& [id, counts] : status.items()) {
    const auto number_of_group = facts::number<std::int64_t>(id);
    if (!number_of_group) continue;
    const auto key = parsed.keys.find(*number_of_group);
    if (key == parsed.keys.end()) continue;
    for (Group& group : groups) {
      if (GroupKey(group.name, group.backend) != key->second || group.begun > 0) continue;
      group.begun = std::clamp<std::int64_t>(
          whole_number(member(counts, "last_enqueued_collective")), 0, kMostCollectives);
      group.done = std::clamp<std::int64_t>(
          whole_number(member(counts, "last_completed_collective")), 0, group.begun);
    }
  }
}

// Parses "[0, 1]", as a string or as a JSON list.
std::vector<int> members_of(const Json& json) {
  Json list = json;
  if (json.is_string()) {
    auto parsed = parse_json(json.get_ref<const std::string&>());
    if (!parsed) return {};
    list = *std::move(parsed);
  }
  std::vector<int> ranks;
  if (!list.is_array() || list.size() > kMostMembers) return {};
  for (const Json& one : list) {
    const std::int64_t rank = one.is_number_integer() ? whole_number(one) : -1;
    if (rank < 0 || rank > INT32_MAX) return {};
    ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

void take_configuration(const Json& configuration, std::vector<Group>& groups) {
  if (!configuration.is_object()) return;
  for (const auto& [key, json] : configuration.items()) {
    const std::string name = printable(std::string_view(key).substr(0, kLongestName));
    if (name.empty() || groups.size() >= 2 * kMostGroups) continue;
    groups.push_back({.name = name,
                      .description = text_of(member(json, "desc")),
                      .ranks = members_of(member(json, "ranks"))});
  }
}

}  // namespace

Result<std::vector<Group>> parse_flight_record(std::string_view text, double unix_time) {
  MUSTER_TRY(const Json json, parse_json(text, {.bytes = kMaxRecordBytes, .depth = 16}));
  const Json& entries = member(json, "entries");
  Parsed parsed;
  for (std::size_t i = 0; entries.is_array() && i < std::min(entries.size(), kMostEntries); ++i) {
    take_entry(entries[i], unix_time, parsed);
  }
  std::vector<Group> groups;
  for (auto& [key, recorded] : parsed.groups) groups.push_back(group_of(key, std::move(recorded)));
  take_status(member(json, "pg_status"), parsed, groups);
  take_configuration(member(json, "pg_config"), groups);
  return merge_groups(std::span(&groups, 1));
}

std::vector<Group> merge_groups(std::span<const std::vector<Group>> records) {
  std::map<GroupKey, Group> merged;
  std::map<std::string, Group> listed;  // by name: what is known about all groups of that name
  for (const std::vector<Group>& record : records) {
    for (const Group& group : record) {
      Group& known = listed[group.name];
      known.name = group.name;
      if (known.ranks.empty()) known.ranks = group.ranks;
      const bool says_little = group.description.empty() || group.description == "undefined";
      if (known.description.empty() || !says_little) known.description = group.description;
      if (group.backend.empty() && group.begun == 0) continue;
      const auto [place, is_new] = merged.try_emplace({group.name, group.backend}, group);
      if (!is_new && group.begun > place->second.begun) place->second = group;
    }
  }
  std::vector<Group> groups;
  for (auto& [name, known] : listed) {
    const std::size_t before = groups.size();
    for (auto at = merged.lower_bound({name, ""}); at != merged.end() && at->first.first == name;
         ++at) {
      groups.push_back(std::move(at->second));
      groups.back().ranks = known.ranks;
      groups.back().description = known.description;
    }
    if (groups.size() == before) groups.push_back(known);
  }
  return groups;
}

void set_before(std::vector<Group>& groups, std::span<const Group> before) {
  for (Group& group : groups) {
    for (const Group& earlier : before) {
      if (earlier.name != group.name || earlier.backend != group.backend) continue;
      group.begun_before = earlier.begun;
      group.done_before = earlier.done;
    }
  }
}

bool tells_unfinished(std::string_view record) {
  return record.find("\"retired\":false") != std::string_view::npos ||
         record.find("\"retired\": false") != std::string_view::npos;
}

}  // namespace muster::inspect
