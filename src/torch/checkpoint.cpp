#include "muster/checkpoint.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <set>
#include <stdexcept>
#include <thread>

#include "torch/checkpoint_folder.hpp"
#include "torch/exchange.hpp"
#include "torch/folder_claim.hpp"
#include "torch/random_state.hpp"
#include "torch/shared_folder.hpp"
#include "torch/tensor_types.hpp"
#include "torch/tracked_state.hpp"

namespace muster {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::string rng_name(int rank) {
  return "rng/" + std::to_string(rank);
}

torch::Tensor as_bytes(const std::string& text) {
  torch::Tensor bytes = torch::empty({static_cast<int64_t>(text.size())}, torch::kByte);
  std::memcpy(bytes.data_ptr(), text.data(), text.size());
  return bytes;
}

int64_t bytes_in(const NamedTensors& tensors) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

// The names of the tensors that writer `index` of `count` saves. The first writer saves buffers and
// random numbers. The other tensors go, largest first, to the writer with the fewest bytes so far.
// Gives the same result on every rank.
std::set<std::string> part_of(const CollectedState& state, int index, int count) {
  struct Sized {
    int64_t bytes;
    std::string name;
  };
  std::vector<Sized> sized;
  std::vector<int64_t> load(static_cast<size_t>(count), 0);
  std::set<std::string> mine;
  for (const auto& [name, tensor] : state.tensors) {
    const auto bytes = static_cast<int64_t>(tensor.nbytes());
    if (state.buffers.contains(name) || name.starts_with("rng/")) {
      load[0] += bytes;
      if (index == 0) mine.insert(name);
    } else {
      sized.push_back({bytes, name});
    }
  }
  std::stable_sort(sized.begin(), sized.end(),
                   [](const Sized& a, const Sized& b) { return a.bytes > b.bytes; });
  for (const auto& [bytes, name] : sized) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += bytes;
    if (least - load.begin() == index) mine.insert(name);
  }
  return mine;
}

// Returns "n1, n2, n3". Of a long list, names the first ones and says how many more there are.
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMostNames = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() <= kMostNames) return text;
  return text + " and " + std::to_string(names.size() - kMostNames) + " more";
}

struct NewestCheckpoint {
  int source = -1;  // the lowest rank that has it; -1: no rank has one
  Checkpoint found;
  // By rank: the newest good step in the rank's folder; -1 if there is none, or if another rank
  // reports for that folder.
  std::vector<int64_t> held;
};

}  // namespace

struct Checkpoints::State {
  Job job;
  ProcessGroupPointer group;
  CheckpointOptions options;
  CheckpointFolder folder;
  // Keeps other jobs out of the folder. Null unless this rank leads().
  std::unique_ptr<FolderClaim> claim = nullptr;
  TrackedState tracked = {};
  std::string mark = {};            // part of the names of this job's unfinished files
  std::string lineage = {};         // of the checkpoints that this job saves
  bool folder_is_ours = false;      // the folder is known to hold no other lineage
  std::vector<int> folder_of = {};  // by rank: the lowest rank that sees the same folder
  std::vector<int> mates = {};      // ranks that see the same folder; the first one commits
  NamedTensors copies = {};         // copies of this rank's part; the memory is reused
  std::thread writer = {};
  std::atomic<bool> abandoned = false;
  std::string outcome = {};  // what went wrong in this rank's last save, for people; "" if nothing
  bool kept = true;          // whether this rank's last save succeeded
  int saves = 0;
  bool unsettled = false;         // the ranks have not yet exchanged how the last save ended
  int failures = 0;               // consecutive saves that did not succeed on all ranks
  std::string last_failure = {};  // for people
  int exceptions = std::uncaught_exceptions();
  Cost cost = {};

  [[nodiscard]] bool leads() const { return mates.front() == job.rank; }
  [[nodiscard]] bool all_share() const;
  void warn(const std::string& message) const;
  bool settle();
  void count(bool kept_by_all);
  void refuse_endless_failures() const;
  void refuse_folder();
  void add_random_numbers(CollectedState& state, const std::vector<std::string>& of_ranks) const;
  void take_buffers_of_rank_0(CollectedState& state) const;
  void copy_part(const CollectedState& state, const std::set<std::string>& names);
  void write(CheckpointManifest manifest, int index, int count, const NamedTensors& tensors);
  [[nodiscard]] int64_t newest_good(std::string& damaged) const;
  [[nodiscard]] NewestCheckpoint find_newest() const;
  [[nodiscard]] LoadedCheckpoint hand_out(int source, int64_t step) const;
  void hand_on(const LoadedCheckpoint& loaded, const std::vector<int64_t>& held);
  void restore_random_numbers(const LoadedCheckpoint& loaded) const;
};

bool Checkpoints::State::all_share() const {
  return static_cast<int>(mates.size()) == job.size;
}

void Checkpoints::State::warn(const std::string& message) const {
  if (job.rank != 0) return;
  if (options.warn) return options.warn(message);
  (void)std::fprintf(stderr, "muster: %s\n", message.c_str());
}

// Collective. Waits for the last save, and returns whether it succeeded on all ranks.
bool Checkpoints::State::settle() {
  if (writer.joinable()) writer.join();
  const std::string mine = (kept ? "+" : "-") + outcome;
  outcome.clear();
  kept = true;
  bool by_all = true;
  for (const std::string& text : gather_texts(*group, mine)) {
    if (text.size() > 1) warn(text.substr(1));
    if (text.front() == '-') last_failure = text.substr(1);
    by_all = by_all && text.front() == '+';
  }
  count(by_all);
  if (by_all || !leads()) return by_all;
  try {
    claim->check();
    folder.remove_unfinished();  // nobody is writing now, and the disk may be short of room
  } catch (const std::exception& error) {
    (void)error;  // the next job tries again
  }
  return by_all;
}

// Counts consecutive failed saves. Every rank gets the same result.
void Checkpoints::State::count(bool kept_by_all) {
  if (unsettled) failures = kept_by_all ? 0 : failures + 1;
  unsettled = false;
}

void Checkpoints::State::refuse_endless_failures() const {
  if (options.max_failures < 1 || failures < options.max_failures) return;
  throw std::runtime_error(std::to_string(failures) +
                           " saves in a row failed; the last one: " + last_failure +
                           "\n  hint: repair this before you start the job again; it resumes from "
                           "the last checkpoint that was saved");
}

// Collective. Throws on all ranks if any host's folder must not be saved into.
void Checkpoints::State::refuse_folder() {
  act_together(*group, [this] {
    if (!leads()) return;
    claim->check();
    if (!folder_is_ours) folder.refuse_others(lineage);
  });
  folder_is_ours = true;
}

void Checkpoints::State::add_random_numbers(CollectedState& state,
                                            const std::vector<std::string>& of_ranks) const {
  for (size_t rank = 0; rank < of_ranks.size(); ++rank) {
    state.tensors[rng_name(static_cast<int>(rank))] = as_bytes(of_ranks[rank]);
  }
}

// Replaces the buffers with those of rank 0, so that folders that are not shared get the same
// checkpoint.
void Checkpoints::State::take_buffers_of_rank_0(CollectedState& state) const {
  if (all_share() || state.buffers.empty()) return;
  std::vector<at::Tensor> buffers;
  for (const std::string& name : state.buffers) {
    at::Tensor& tensor = state.tensors.at(name);
    tensor = tensor.detach().to(device_of(*group)).clone(at::MemoryFormat::Contiguous);
    buffers.push_back(tensor);
  }
  broadcast_tensors(group, buffers, 0);
}

void Checkpoints::State::copy_part(const CollectedState& state,
                                   const std::set<std::string>& names) {
  torch::NoGradGuard no_grad;
  NamedTensors fresh;
  for (const std::string& name : names) {
    const torch::Tensor& from = state.tensors.at(name);
    torch::Tensor to;
    if (const auto old = copies.find(name); old != copies.end()) to = old->second;
    if (!to.defined() || to.sizes() != from.sizes() || to.scalar_type() != from.scalar_type()) {
      to = torch::empty(from.sizes(), torch::TensorOptions(from.scalar_type()));
    }
    to.copy_(from);
    fresh[name] = to;
  }
  copies = std::move(fresh);
}

// Runs on its own thread. It must not use collectives, because the other ranks may be anywhere in
// their next steps.
void Checkpoints::State::write(CheckpointManifest manifest, int index, int count,
                               const NamedTensors& tensors) {
  const std::string step = "the checkpoint of step " + std::to_string(manifest.step);
  std::optional<UnfinishedCheckpoint> unfinished;
  try {
    unfinished.emplace(folder, manifest.step,
                       mark + "-" + std::to_string(mates.front()) + "-" + std::to_string(saves));
    const Shard shard = unfinished->write_shard(index, count, tensors);
    if (index > 0) return unfinished->announce(index, shard);
    manifest.shards = {shard};
    const auto others = unfinished->wait_for_others(count, SteadyClock::now() + options.timeout,
                                                    [this] { return abandoned.load(); });
    manifest.shards.insert(manifest.shards.end(), others.begin(), others.end());
    claim->check();
    unfinished->commit(manifest);
  } catch (const std::exception& error) {
    kept = false;
    outcome = step + " was not saved: " + rank_and_host(job.rank) + ": " + error.what();
    if (unfinished && index > 0) unfinished->announce_failure(index);
    if (unfinished && index == 0) unfinished->remove();
    return;
  }
  try {
    folder.prune(options.keep, manifest.step);
  } catch (const std::exception& error) {
    outcome = step +
              " was saved, but an older one could not be removed: " + rank_and_host(job.rank) +
              ": " + error.what();
  }
}

// Returns the step of the newest good checkpoint; -1 if there is none. Adds a line to `damaged` for
// each newer checkpoint that is damaged.
int64_t Checkpoints::State::newest_good(std::string& damaged) const {
  for (const int64_t step : folder.steps()) {
    try {
      (void)folder.verify(step);
      return step;
    } catch (const std::exception& error) {
      damaged += rank_and_host(job.rank) + ": step " + std::to_string(step) +
                 " cannot be used: " + error.what() + "\n";
    }
  }
  return -1;
}

// Collective. Gives the same result on every rank.
NewestCheckpoint Checkpoints::State::find_newest() const {
  std::string damaged;
  int64_t mine = -1;
  act_together(*group, [&] {
    if (leads()) mine = newest_good(damaged);
  });
  std::string all_damaged;
  for (const std::string& text : gather_texts(*group, damaged)) all_damaged += text;
  if (!all_damaged.empty()) all_damaged.pop_back();
  NewestCheckpoint newest;
  std::vector<std::string> hosts;  // by rank; empty where the rank does not lead
  for (const std::string& text :
       gather_texts(*group, std::to_string(mine) + " " + (leads() ? own_host() : ""))) {
    newest.held.push_back(std::stoll(text));
    hosts.push_back(text.substr(text.find(' ') + 1));
  }
  const auto source = std::max_element(newest.held.begin(), newest.held.end());
  if (*source < 0 && !all_damaged.empty()) {
    throw std::runtime_error("none of the checkpoints can be used:\n" + all_damaged +
                             "\nmove them away to start from the beginning");
  }
  if (!all_damaged.empty()) warn(all_damaged);
  if (*source < 0) return newest;
  newest.source = static_cast<int>(source - newest.held.begin());
  newest.found.step = *source;
  if (all_share()) return newest;
  std::vector<std::string> with;
  std::vector<std::string> without;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank].empty()) continue;
    (newest.held[rank] == *source ? with : without).push_back(hosts[rank]);
  }
  newest.found.found_on = listed(with);
  newest.found.missing_on = listed(without);
  return newest;
}

// Collective. Only rank `source` reads the checkpoint. It broadcasts the contents, so that the file
// system does not have to deliver the same bytes to every rank.
LoadedCheckpoint Checkpoints::State::hand_out(int source, int64_t step) const {
  LoadedCheckpoint loaded;
  std::string manifest;
  std::string shapes;
  act_together(
      *group,
      [&] {
        if (job.rank != source) return;
        loaded = folder.load(step);
        manifest = encode(loaded.manifest);
        shapes = encode(header_for(loaded.tensors, {}));
      },
      "the checkpoint of step " + std::to_string(step) +
          " could be read a moment ago, but now it cannot: ");
  if (group->getSize() == 1) return loaded;
  manifest = broadcast_text(*group, manifest, source);
  shapes = broadcast_text(*group, shapes, source);
  loaded.manifest = decode_manifest(manifest);
  // Bytes to collect before a broadcast. If the group needs its tensors on a device, this limits
  // how much memory they take there.
  constexpr size_t kPortion = 256 << 20;
  std::vector<at::Tensor> portion;
  std::vector<std::string> names;
  size_t bytes = 0;
  const auto send = [&] {
    broadcast_tensors(group, portion, source);
    for (size_t i = 0; i < names.size(); ++i) loaded.tensors[names[i]] = portion[i].cpu();
    portion.clear();
    names.clear();
    bytes = 0;
  };
  const std::string_view json = std::string_view(shapes).substr(8);
  for (const TensorPlace& place : decode(json, std::nullopt).places) {
    at::Tensor tensor = job.rank == source
                            ? loaded.tensors.at(place.name)
                            : at::empty(place.shape, type_of_safetensors(place.type));
    portion.push_back(tensor.to(device_of(*group)));
    names.push_back(place.name);
    bytes += tensor.nbytes();
    if (bytes > kPortion) send();
  }
  send();
  return loaded;
}

// Lets hosts that lack the checkpoint store a copy, because the host that has it may fail next.
// Like a save, this runs on a thread.
void Checkpoints::State::hand_on(const LoadedCheckpoint& loaded, const std::vector<int64_t>& held) {
  const bool lacks = leads() && held[static_cast<size_t>(job.rank)] != loaded.manifest.step;
  ++saves;
  unsettled = true;
  if (!lacks) return;
  CheckpointManifest manifest = loaded.manifest;
  manifest.shards.clear();
  writer =
      std::thread([this, manifest, tensors = loaded.tensors] { write(manifest, 0, 1, tensors); });
}

void Checkpoints::State::restore_random_numbers(const LoadedCheckpoint& loaded) const {
  const int64_t step = loaded.manifest.step;
  if (loaded.manifest.ranks != job.size) {
    warn("step " + std::to_string(step) + " was saved by " + std::to_string(loaded.manifest.ranks) +
         " ranks, and now there are " + std::to_string(job.size) +
         "; the random number generators are reseeded");
    return seed_anew(step, job.rank);
  }
  const torch::Tensor bytes = loaded.tensors.at(rng_name(job.rank)).cpu();
  set_random_state({static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes()});
}

Checkpoints::Checkpoints(const Job& job, ProcessGroupPointer group,
                         const CheckpointOptions& options)
    : state_(new State{.job = job,
                       .group = std::move(group),
                       .options = options,
                       .folder = CheckpointFolder(options.folder)}) {
  State& s = *state_;
  if (options.folder.empty() || options.keep < 1 || options.shard_bytes < 1) {
    throw std::invalid_argument("Checkpoints needs a directory, keep >= 1 and shard_bytes >= 1");
  }
  s.mark = broadcast_text(*s.group, random_name(), 0);
  s.lineage = s.mark;
  s.folder_of = find_folder_mates(job, *s.group, options.folder, s.mark);
  const int ours = s.folder_of[static_cast<size_t>(job.rank)];
  for (int rank = 0; rank < job.size; ++rank) {
    if (s.folder_of[static_cast<size_t>(rank)] == ours) s.mates.push_back(rank);
  }
  act_together(*s.group, [&] {
    if (!s.leads()) return;
    s.claim = std::make_unique<FolderClaim>(options.folder, s.mark, options.lost_after,
                                            [&s](const std::string& text) { s.warn(text); });
    s.folder.remove_unfinished();
  });
}

Checkpoints::~Checkpoints() {
  if (!state_) return;
  if (std::uncaught_exceptions() > state_->exceptions) state_->abandoned = true;
  if (state_->writer.joinable()) state_->writer.join();
  if (!state_->outcome.empty()) {
    (void)std::fprintf(stderr, "muster: %s\n", state_->outcome.c_str());
  }
}

void Checkpoints::track(const std::string& name, std::shared_ptr<torch::nn::Module> model) {
  state_->tracked.add(name, std::move(model));
}

void Checkpoints::track(const std::string& name, torch::optim::Optimizer& optimizer,
                        std::shared_ptr<torch::nn::Module> of_model) {
  state_->tracked.add(name, optimizer, std::move(of_model));
}

std::optional<Checkpoint> Checkpoints::newest() {
  (void)state_->settle();
  const NewestCheckpoint newest = state_->find_newest();
  if (newest.source < 0) return std::nullopt;
  return newest.found;
}

std::string Checkpoints::set_aside() {
  State& s = *state_;
  (void)s.settle();
  std::string moved;
  act_together(*s.group, [&] {
    if (!s.leads()) return;
    s.claim->check();
    moved = s.folder.set_aside();
  });
  std::string all;
  for (const std::string& text :
       gather_texts(*s.group, moved.empty() ? "" : own_host() + ": " + moved)) {
    if (!text.empty()) all += (all.empty() ? "" : "\n") + text;
  }
  return all;
}

std::optional<Checkpoint> Checkpoints::resume() {
  State& s = *state_;
  (void)s.settle();
  const NewestCheckpoint newest = s.find_newest();
  if (newest.source < 0) return std::nullopt;
  Checkpoint checkpoint = newest.found;
  LoadedCheckpoint loaded = s.hand_out(newest.source, checkpoint.step);
  NamedTensors own = loaded.tensors;
  std::erase_if(own, [](const auto& item) { return item.first.starts_with("rng/"); });
  try {
    s.tracked.restore(own, loaded.manifest.values);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        "the checkpoint of step " + std::to_string(checkpoint.step) + " in " + s.folder.path() +
        (checkpoint.found_on.empty() ? "" : " on " + checkpoint.found_on) + " " + error.what() +
        "\n  hint: to train this model from the beginning, choose another "
        "directory, or move the checkpoints away");
  }
  act_together(*s.group, [&] { s.restore_random_numbers(loaded); });
  if (!loaded.manifest.lineage.empty()) s.lineage = loaded.manifest.lineage;
  s.folder_is_ours = false;
  s.refuse_folder();
  s.hand_on(loaded, newest.held);
  checkpoint.values = loaded.manifest.values;
  std::erase_if(checkpoint.values, [](const auto& item) { return is_own_value(item.first); });
  return checkpoint;
}

void Checkpoints::save(const Checkpoint& checkpoint) {
  State& s = *state_;
  const auto begin = SteadyClock::now();
  (void)s.settle();
  s.refuse_endless_failures();
  s.refuse_folder();
  CollectedState state = s.tracked.collect();
  s.add_random_numbers(state, gather_texts(*s.group, random_state()));
  const auto total = bytes_in(state.tensors);
  const auto wanted = static_cast<int>(std::min<int64_t>(
      static_cast<int64_t>(s.mates.size()), std::max<int64_t>(1, total / s.options.shard_bytes)));
  const auto me = std::find(s.mates.begin(), s.mates.end(), s.job.rank);
  const auto index = static_cast<int>(me - s.mates.begin());
  s.take_buffers_of_rank_0(state);
  ++s.saves;
  s.unsettled = true;
  if (index < wanted) {
    s.copy_part(state, part_of(state, index, wanted));
    CheckpointManifest manifest{.step = checkpoint.step,
                                .ranks = s.job.size,
                                .lineage = s.lineage,
                                .values = checkpoint.values,
                                .shards = {}};
    manifest.values.merge(state.values);
    s.writer =
        std::thread([&s, manifest, index, wanted] { s.write(manifest, index, wanted, s.copies); });
  }
  if (!s.options.asynchronous) {
    (void)s.settle();
    s.refuse_endless_failures();
  }
  s.cost = {.stall_s = std::chrono::duration<double>(SteadyClock::now() - begin).count(),
            .bytes = index < wanted ? bytes_in(s.copies) : 0};
}

bool Checkpoints::finish() {
  return state_->settle();
}

bool Checkpoints::shared() const {
  return state_->all_share();
}

std::string Checkpoints::describe() const {
  const State& s = *state_;
  if (shared()) return "one directory that all ranks share";
  const std::set<int> folders(s.folder_of.begin(), s.folder_of.end());
  return std::to_string(folders.size()) +
         " directories that are not shared, each with the whole checkpoint";
}

Checkpoints::Cost Checkpoints::last_cost() const {
  return state_->cost;
}

}  // namespace muster
