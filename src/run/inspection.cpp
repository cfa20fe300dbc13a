#include "run/inspection.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "sys/file.hpp"

namespace muster::run {
namespace {

constexpr std::size_t kMostKept = 100;  // inspections per attempt; the oldest are removed first

why::RankState state_of(const Record& record, const RankRecord& rank, const Moment& moment) {
  why::RankState state{.rank = rank.rank, .host = rank.host};
  if (!rank.start) state.life = why::RankState::Life::kNotStarted;
  if (!rank.end) return state;
  const auto ahead = record.clock_ahead_s.find(rank.host);
  const double ended_s =
      rank.end->time_s - (ahead == record.clock_ahead_s.end() ? 0 : ahead->second);
  state.life = why::RankState::Life::kEnded;
  state.end = describe_status(rank.end->status);
  state.ended_ago_s = std::max(moment.now_s - ended_s, 0.0);
  state.timed_out = rank.end->timed_out;
  state.cut_off = rank.end->cut_off;
  return state;
}

std::string folder_of(const std::string& run_folder, int number) {
  return fmt::format("{}/why-{}", run_folder, number);
}

// The numbers of all stored inspections, lowest first.
std::vector<int> kept_numbers(const std::string& run_folder) {
  std::vector<int> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder, error)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kStart = "why-";
    int number = 0;
    if (!name.starts_with(kStart)) continue;
    const char* const end = name.data() + name.size();
    const auto [rest, bad] = std::from_chars(name.data() + kStart.size(), end, number);
    if (bad == std::errc() && rest == end && number > 0) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace

why::Scene scene_of(const Record& record, const std::set<std::string>& members,
                    const HostViews& views, const Moment& moment) {
  why::Scene scene{.started_ago_s = std::max(moment.now_s - record.started_s, 0.0),
                   .silent_s = moment.silent_s};
  scene.kernel_logs = record.kernel_log;
  std::map<int, std::string> hosts;  // by rank
  for (const RankRecord& rank : record.ranks) {
    scene.ranks.push_back(state_of(record, rank, moment));
    hosts[rank.rank] = rank.host;
  }
  for (const auto& [host, view] : views) {
    const auto [seen, is_new] = scene.hosts.emplace(host, view);
    std::erase_if(seen->second.ranks, [&, name = host](const inspect::RankView& rank) {
      const auto found = hosts.find(rank.rank);
      return found == hosts.end() || found->second != name;
    });
  }
  std::set<std::string> silent(record.lost_hosts.begin(), record.lost_hosts.end());
  for (const std::string& host : members) {
    if (!views.contains(host)) silent.insert(host);
  }
  scene.silent_hosts.assign(silent.begin(), silent.end());
  return scene;
}

Result<std::string> keep_inspection(const std::string& folder, const why::Scene& scene,
                                    const why::Verdict& verdict) {
  const std::vector<int> earlier = kept_numbers(folder);
  for (std::size_t i = 0; i + kMostKept <= earlier.size(); ++i) {
    std::error_code error;
    std::filesystem::remove_all(folder_of(folder, earlier[i]), error);
  }
  const std::string kept = folder_of(folder, earlier.empty() ? 1 : earlier.back() + 1);
  MUSTER_CHECK(sys::make_private_folder(kept));
  const std::string text = verdict_text(verdict) + evidence_text(scene);
  MUSTER_CHECK(sys::write_file(kept + "/scene.json", to_json(scene) + "\n", 0600));
  MUSTER_CHECK(
      sys::write_file(fmt::format("{}/{}", kept, kWhyVerdict), to_json(verdict) + "\n", 0600));
  MUSTER_CHECK(sys::write_file(fmt::format("{}/{}", kept, kWhyText), text, 0600));
  return kept;
}

std::string newest_inspection(const std::string& folder) {
  const std::vector<int> numbers = kept_numbers(folder);
  return numbers.empty() ? std::string() : folder_of(folder, numbers.back());
}

}  // namespace muster::run
