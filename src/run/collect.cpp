#include "run/collect.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "sys/file.hpp"

namespace muster::run {
namespace {

constexpr std::chrono::minutes kDeadline{10};

struct Missing {
  int rank = 0;
  std::string host = {};
  sys::Stream stream = sys::Stream::kOut;
  std::uint64_t have = 0;
  std::uint64_t wanted = 0;
  std::string ours = {};  // the file here
  std::string part = {};  // the file as it is being brought
};

std::vector<Missing> find_missing(const Record& record, Output& output) {
  std::vector<Missing> missing;
  for (const RankRecord& rank : record.ranks) {
    const auto& lost = record.lost_hosts;
    if (!rank.end || std::find(lost.begin(), lost.end(), rank.host) != lost.end()) continue;
    for (const sys::Stream stream : {sys::Stream::kOut, sys::Stream::kErr}) {
      const bool is_out = stream == sys::Stream::kOut;
      const std::uint64_t wanted = is_out ? rank.end->out_bytes : rank.end->err_bytes;
      const std::uint64_t have = output.bytes(rank.rank, stream);
      if (have == wanted + 1) output.drop_added_newline(rank.rank, stream);
      if (have == wanted || have == wanted + 1) continue;
      const std::string ours = output.rank_file(rank.rank, stream);
      missing.push_back({.rank = rank.rank,
                         .host = rank.host,
                         .stream = stream,
                         .have = have,
                         .wanted = wanted,
                         .ours = ours,
                         .part = ours + ".part"});
    }
  }
  return missing;
}

remote::Task fetch_task(const Missing& one, const std::string& folder) {
  const auto file = std::make_shared<sys::Fd>(
      ::open(one.part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  return {.host = one.host,
          .command = fmt::format("cat {}/rank.{}.{}", folder, one.rank,
                                 one.stream == sys::Stream::kOut ? "out" : "err"),
          .on_output = [file](sys::Stream stream, std::string_view chunk) {
            if (stream != sys::Stream::kOut || !file->valid()) return;
            const auto size = static_cast<ssize_t>(chunk.size());
            if (::write(file->get(), chunk.data(), chunk.size()) != size) *file = sys::Fd();
          }};
}

// Whether the first `bytes` of both files are the same.
bool same_beginning(const std::string& a, const std::string& b, std::uint64_t bytes) {
  std::ifstream one(a, std::ios::binary), other(b, std::ios::binary);
  std::array<char, 65536> left{}, right{};
  while (bytes > 0) {
    const auto count = static_cast<std::streamsize>(std::min<std::uint64_t>(bytes, left.size()));
    if (!one.read(left.data(), count) || !other.read(right.data(), count)) return false;
    if (!std::equal(left.begin(), left.begin() + count, right.begin())) return false;
    bytes -= static_cast<std::uint64_t>(count);
  }
  return true;
}

// Lines that came torn cannot be told from new ones: then nothing is shown twice.
void show_the_rest(const Missing& one, Output& output) {
  if (!same_beginning(one.ours, one.part, one.have)) return;
  std::ifstream file(one.part, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(one.have));
  for (std::string line; std::getline(file, line);) {
    output.take(one.stream, fmt::format("[{}:{}] {}\n", one.host, one.rank, line));
  }
}

}  // namespace

bool collect_missing(remote::Transport& transport, const std::string& base, const Record& record,
                     Output& output) {
  const std::vector<Missing> missing = find_missing(record, output);
  if (missing.empty()) return output.not_kept().empty();
  std::vector<remote::Task> tasks;
  for (const Missing& one : missing) {
    tasks.push_back(fetch_task(one, fmt::format("{}/runs/{}", base, record.id)));
  }
  const std::vector<remote::Outcome> outcomes = transport.run(tasks, kDeadline);
  tasks.clear();  // closes the files
  bool complete = true;
  std::vector<bool> brought(missing.size());
  for (std::size_t i = 0; i < missing.size(); ++i) {
    std::error_code error;
    brought[i] = outcomes[i].ended && outcomes[i].ended->ok() &&
                 std::filesystem::file_size(missing[i].part, error) == missing[i].wanted;
    complete = complete && brought[i];
    if (brought[i]) show_the_rest(missing[i], output);
  }
  output.finish();
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (brought[i])
      (void)::rename(missing[i].part.c_str(), missing[i].ours.c_str());
    else
      (void)::unlink(missing[i].part.c_str());
  }
  return complete && output.not_kept().empty();
}

}  // namespace muster::run
