#include "agent/rank_records.hpp"

#include <filesystem>
#include <fstream>

#include <sys/inotify.h>
#include <unistd.h>

namespace muster::agent {
namespace {

bool is_record(const std::string& name) {
  return name.starts_with("rank.") && name.ends_with(".jsonl");
}

}  // namespace

Result<void> RankRecords::watch(const std::string& folder) {
  folder_ = folder;
  inotify_ = sys::Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify_.valid() || ::inotify_add_watch(inotify_.get(), folder.c_str(), IN_CREATE) < 0) {
    return unexpected(system_error("cannot watch the run's folder", folder));
  }
  return {};
}

void RankRecords::drain_notices() {
  // Only wakes us: the folder itself is looked at below, so that nothing hangs on a lost notice.
  char bytes[16384];
  while (::read(inotify_.get(), bytes, sizeof bytes) > 0) {
  }
}

void RankRecords::read_new_lines(const std::string& name, File& file,
                                 std::vector<Event>& events) const {
  std::ifstream stream(folder_ + "/" + name, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(file.read));
  for (std::string line; std::getline(stream, line) && !stream.eof();) {
    file.read += line.size() + 1;
    if (auto event = parse_event(line)) events.push_back(*std::move(event));
  }
}

std::vector<Event> RankRecords::news() {
  drain_notices();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename();
    if (!is_record(name) || files_.contains(name)) continue;
    files_[name] = {};
    // The watch comes before the first look, so that no line falls between.
    (void)::inotify_add_watch(inotify_.get(), entry.path().c_str(), IN_MODIFY);
  }
  std::vector<Event> events;
  for (auto& [name, file] : files_) read_new_lines(name, file, events);
  return events;
}

}  // namespace muster::agent
