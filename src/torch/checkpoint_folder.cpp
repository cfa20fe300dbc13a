#include "torch/checkpoint_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "torch/folder_claim.hpp"
#include "torch/shared_folder.hpp"
#include "torch/tensor_file.hpp"
#include "torch/tensor_reader.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStepPrefix = "step-";
constexpr const char* kSetAside = "set-aside-";
// Part of the names of files and folders that are being written or removed.
constexpr const char* kUnfinished = ".tmp-";
constexpr const char* kReplaced = ".tmp-replaced";
constexpr size_t kStepDigits = 12;
constexpr size_t kMostManifestBytes = 256 << 20;

std::string numbered(const char* form, long long a, long long b = 0) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), form, a, b);
  return text.data();
}

// The step of a name such as "step-000000000120"; -1 for other names.
int64_t step_of(const std::string& name) {
  const std::string prefix = kStepPrefix;
  if (!name.starts_with(prefix)) return -1;
  const std::string digits = name.substr(prefix.size());
  const bool all_digits =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits.size() < kStepDigits || digits.size() > 18 || !all_digits) return -1;
  return std::stoll(digits);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

// Returns a text that changes when a file in the folder is added, removed, replaced or written to.
std::string appearance_of(const std::string& folder) {
  std::vector<std::string> names = names_in(folder);
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) throw_errno(path, "cannot be read");
    text += name + numbered(" %lld %lld", status.st_size, static_cast<long long>(status.st_ino)) +
            numbered(" %lld %lld\n", status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
  }
  return text;
}

// Creates the folder PREFIX1, or PREFIX with the next free number, and returns its path.
std::string new_numbered_folder(const std::string& prefix) {
  for (int number = 1;; ++number) {
    std::string path = prefix + std::to_string(number);
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) throw_errno(path, "cannot be created");
  }
}

// Renames before it removes, so that a half-removed checkpoint never counts as complete.
void rename_and_remove(const std::string& path) {
  const std::string away = path + kUnfinished + "removed";
  std::error_code ignored;
  fs::remove_all(away, ignored);
  if (::rename(path.c_str(), away.c_str()) != 0) {
    if (errno == ENOENT) return;
    throw_errno(path, "cannot be removed");
  }
  fs::remove_all(away);
}

// Restores the old checkpoint of a step after a crash between the two renames of
// UnfinishedCheckpoint::commit. Returns false if the step has its new content already.
bool put_back(const std::string& replaced) {
  const std::string path = replaced.substr(0, replaced.size() - std::strlen(kReplaced));
  if (::access(path.c_str(), F_OK) == 0) return false;
  (void)::rename(replaced.c_str(), path.c_str());  // another host may do the same
  return true;
}

void compare(const std::string& path, const FileChecksums& told, const FileChecksums& found) {
  if (found.bytes != told.bytes) {
    throw std::runtime_error(path + ": has " + std::to_string(found.bytes) + " bytes instead of " +
                             std::to_string(told.bytes));
  }
  for (const auto& [name, sum] : told.tensors) {
    const auto there = found.tensors.find(name);
    if (there == found.tensors.end())
      throw std::runtime_error(path + ": the tensor is missing: " + name);
    if (there->second != sum) throw std::runtime_error(path + ": " + name + " is damaged");
  }
  if (found.header != told.header) throw std::runtime_error(path + ": its header is damaged");
}

CheckpointManifest read_manifest(const std::string& folder, int64_t step) {
  const std::string path = folder + "/manifest.json";
  const std::string text = read_whole_file(path, kMostManifestBytes);
  CheckpointManifest manifest;
  try {
    manifest = decode_manifest(text);
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  if (manifest.step != step) {
    throw std::runtime_error(path + ": belongs to step " + std::to_string(manifest.step));
  }
  return manifest;
}

}  // namespace

void CheckpointFolder::remove_unfinished() const {
  for (const std::string& name : names_in(path_)) {
    const bool of_a_step = name.starts_with(kStepPrefix);
    if (of_a_step && name.ends_with(kReplaced) && put_back(path_ + "/" + name)) continue;
    const bool unfinished = name.find(kUnfinished) != std::string::npos;
    const bool counts = of_a_step || name.starts_with(kClaimFile);
    if ((counts && unfinished) || name.starts_with(kProbePrefix)) {
      std::error_code ignored;  // another host may do the same
      fs::remove_all(path_ + "/" + name, ignored);
    }
  }
}

std::vector<int64_t> CheckpointFolder::steps() const {
  std::vector<int64_t> found;
  for (const std::string& name : names_in(path_)) {
    if (const int64_t step = step_of(name); step >= 0) found.push_back(step);
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

std::string CheckpointFolder::folder_of(int64_t step) const {
  return path_ + "/" + kStepPrefix + numbered("%012lld", step);
}

CheckpointManifest CheckpointFolder::verify(int64_t step) const {
  CheckpointManifest manifest = read_manifest(folder_of(step), step);
  for (const Shard& shard : manifest.shards) {
    const std::string path = folder_of(step) + "/" + shard.file;
    compare(path, shard.checksums, read_checksums(path));
  }
  return manifest;
}

LoadedCheckpoint CheckpointFolder::load(int64_t step) const {
  LoadedCheckpoint loaded{.manifest = read_manifest(folder_of(step), step), .tensors = {}};
  for (const Shard& shard : loaded.manifest.shards) {
    const std::string path = folder_of(step) + "/" + shard.file;
    CheckedFile read = read_tensors(path);
    compare(path, shard.checksums, read.checksums);
    loaded.tensors.merge(read.file.tensors);
  }
  return loaded;
}

std::string CheckpointFolder::set_aside() const {
  const std::vector<int64_t> found = steps();
  if (found.empty()) return {};
  const std::string folder = new_numbered_folder(path_ + "/" + kSetAside);
  for (const int64_t step :
       found) {  // newest first, so that a crash leaves the older ones in place
    const std::string from = folder_of(step);
    const std::string to = folder + "/" + fs::path(from).filename().string();
    if (::rename(from.c_str(), to.c_str()) != 0) throw_errno(from, "cannot be moved to " + folder);
  }
  sync_folder(folder);
  sync_folder(path_);
  return folder;
}

void CheckpointFolder::refuse_others(const std::string& lineage) const {
  for (const int64_t step : steps()) {
    std::string found;
    try {
      found = read_manifest(folder_of(step), step).lineage;
    } catch (const std::exception&) {
      continue;
    }
    if (found.empty() || found == lineage) continue;
    throw std::runtime_error(path_ + ": holds step " + std::to_string(step) +
                             " of another training\n  hint: to continue that training, call "
                             "resume() before the first save; otherwise move it away, or choose "
                             "another directory");
  }
}

bool CheckpointFolder::is_good(int64_t step) {
  try {
    const std::string appearance = appearance_of(folder_of(step));
    Judged& judged = judged_[step];
    if (judged.appearance == appearance) return judged.good;
    judged = {.appearance = appearance, .good = false};
    (void)verify(step);
    judged.good = true;
    return true;
  } catch (const std::exception&) {  // reported when somebody wants to resume from it
    return false;
  }
}

void CheckpointFolder::prune(int keep, int64_t newest) {
  judged_[newest] = {.appearance = appearance_of(folder_of(newest)), .good = true};
  int good = 0;
  for (const int64_t step : steps()) {
    if (step > newest) continue;
    if (good >= keep) {
      rename_and_remove(folder_of(step));
      judged_.erase(step);
    } else if (is_good(step)) {
      ++good;
    }
  }
}

UnfinishedCheckpoint::UnfinishedCheckpoint(const CheckpointFolder& folder, int64_t step,
                                           const std::string& mark)
    : folder_(folder), step_(step), path_(folder.folder_of(step) + kUnfinished + mark) {
  if (::mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST) throw_errno(path_, "cannot be created");
}

Shard UnfinishedCheckpoint::write_shard(int index, int count, const NamedTensors& tensors) const {
  Shard shard{.file = numbered("shard-%05lld-of-%05lld.safetensors", index, count),
              .checksums = {}};
  const std::string path = path_ + "/" + shard.file;
  NewFile file(path);
  shard.checksums = write_tensors(file, tensors, {{"format", "pt"}});
  file.sync();
  compare(path, shard.checksums, read_checksums(path));
  return shard;
}

std::string UnfinishedCheckpoint::announcement(int index) const {
  return path_ + "/" + numbered("shard-%05lld.json", index);
}

void UnfinishedCheckpoint::announce(int index, const Shard& shard) const {
  // Unlike write_whole_file, does not sync the folder. The announcement need not survive a crash,
  // and after the rename the committing process may already have given the folder its final name.
  const std::string path = announcement(index);
  const std::string text = encode(shard);
  NewFile file(path + ".new");
  file.write(text.data(), text.size());
  file.sync();
  if (::rename((path + ".new").c_str(), path.c_str()) != 0)
    throw_errno(path, "cannot be renamed into place");
}

void UnfinishedCheckpoint::announce_failure(int index) const noexcept {
  try {
    // The file is empty, because there may be no room for more.
    const NewFile file(announcement(index) + ".failed");
  } catch (const std::exception&) {
    return;  // the committing process gives up at its deadline
  }
}

std::vector<Shard> UnfinishedCheckpoint::wait_for_others(
    int count, std::chrono::steady_clock::time_point deadline,
    const std::function<bool()>& abandoned) const {
  constexpr auto kFirstPause = std::chrono::milliseconds(1);
  constexpr auto kLongestPause = std::chrono::milliseconds(50);
  std::vector<Shard> shards;
  auto pause = kFirstPause;
  while (static_cast<int>(shards.size()) + 1 < count) {
    const int index = static_cast<int>(shards.size()) + 1;
    const std::string path = announcement(index);
    if (::access(path.c_str(), F_OK) == 0) {
      shards.push_back(decode_shard(read_whole_file(path, kMostManifestBytes)));
      ::unlink(path.c_str());
      pause = kFirstPause;
      continue;
    }
    const std::string who = "shard " + std::to_string(index) + " of " + std::to_string(count);
    if (::access((path + ".failed").c_str(), F_OK) == 0) {
      throw std::runtime_error(who + " could not be written");
    }
    if (abandoned()) throw std::runtime_error("writing was abandoned because the job ends");
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error(who + " was not written in time");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::milliseconds>(pause * 2, kLongestPause);
  }
  return shards;
}

void UnfinishedCheckpoint::commit(const CheckpointManifest& manifest) const {
  NewFile file(path_ + "/manifest.json");
  const std::string text = encode(manifest);
  file.write(text.data(), text.size());
  file.sync();
  sync_folder(path_);
  (void)read_manifest(path_, step_);
  const std::string final_path = folder_.folder_of(step_);
  const std::string replaced = final_path + kReplaced;
  std::error_code ignored;
  if (::rename(path_.c_str(), final_path.c_str()) != 0) {
    if (errno != EEXIST && errno != ENOTEMPTY)
      throw_errno(final_path, "cannot be renamed into place");
    // Two renames, because a network file system cannot exchange two names in one step.
    fs::remove_all(replaced, ignored);
    if (::rename(final_path.c_str(), replaced.c_str()) != 0 ||
        ::rename(path_.c_str(), final_path.c_str()) != 0) {
      throw_errno(final_path, "cannot be renamed into place");
    }
  }
  sync_folder(folder_.path());
  fs::remove_all(replaced, ignored);
}

void UnfinishedCheckpoint::remove() const noexcept {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace muster
