#include "programs/bench/backends.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "programs/bench/exchange.hpp"
#include "programs/bench/modules.hpp"
#include "programs/bench/words.hpp"

namespace muster::programs::bench {
namespace {

constexpr int kMeetSeconds = 60;  // how long to wait for ranks that may never arrive

bool is_bare(const std::string& backend) {
  return backend == "bare";
}

Backends make_all(const std::vector<std::string>& wanted, const World& world) {
  Backends made{.names = wanted};
  made.fabrics.resize(wanted.size());
  // The "mpi" backend comes first, because it initialises MPI with its own settings. "bare" then
  // uses the initialised MPI.
  for (const bool bare : {false, true})
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (is_bare(wanted[i]) == bare) made.fabrics[i] = make_fabric(wanted[i], world);
  return made;
}

// Creating a backend is collective, so a rank that lacks one would leave the others waiting.
// Therefore every rank first checks what it has itself. Then the ranks exchange their results: over
// MPI's own calls, which need the fewest files, or else over Gloo. If neither works on all ranks,
// the run fails.
class Choice {
 public:
  Choice(const std::vector<std::string>& wanted, const World& world)
      : wanted_(wanted), world_(world), made_(wanted.size()), why_(wanted.size()) {}

  Backends make() {
    for (std::size_t i = 0; i < wanted_.size(); ++i) why_[i] = missing_here(wanted_[i], world_);
    if (world_.size > 1) meet();
    for (std::string& why : why_) why = agreed(why);
    try_gloo();
    for (const bool bare : {false, true})
      for (std::size_t i = 0; i < wanted_.size(); ++i)
        if (is_bare(wanted_[i]) == bare) attempt(i);
    return result();
  }

 private:
  [[nodiscard]] std::size_t index_of(const std::string& backend) const {
    return static_cast<std::size_t>(std::ranges::find(wanted_, backend) - wanted_.begin());
  }
  [[nodiscard]] bool wants(const std::string& backend) const {
    return index_of(backend) < wanted_.size();
  }
  [[nodiscard]] bool is_open(const std::string& backend) const {
    return wants(backend) && why_[index_of(backend)].empty();
  }

  // Collective. Returns the reason of the lowest rank that has one, or "" if no rank has one.
  [[nodiscard]] std::string agreed(const std::string& why) const {
    if (meeting_ == nullptr) return why;
    const auto all = gather_texts(*meeting_, why);
    const auto first = std::ranges::find_if(all, [](const auto& text) { return !text.empty(); });
    if (first == all.end()) return "";
    const auto rank = first - all.begin();
    return rank == 0 ? *first : "rank " + std::to_string(rank) + ": " + *first;
  }

  void meet() {
    std::string over_mpi;
    if (world_.mpi && (wants("bare") || wants("mpi"))) {
      try {
        meet_over_mpi();
        return;
      } catch (const std::exception& error) {
        over_mpi = one_line(error.what());
      }
      for (const char* name : {"bare", "mpi"})
        if (is_open(name)) why_[index_of(name)] = over_mpi;
    }
    try {
      // Other ranks may have found an MPI and be waiting in it. If this rank times out and exits,
      // they end too.
      spare_ = make_fabric("gloo", world_, over_mpi.empty() ? 0 : kMeetSeconds);
      meeting_ = spare_.get();
      over_gloo_ = true;
    } catch (const std::exception& error) {
      throw std::runtime_error(
          "the ranks cannot find out which backends all of them have, which --optional needs: " +
          (over_mpi.empty() ? "" : "not over MPI: " + over_mpi + "; ") +
          "not over Gloo: " + one_line(error.what()));
    }
  }

  void meet_over_mpi() {
    // If the "mpi" backend is wanted, it must initialise MPI with its own settings. With others, it
    // would be slower than in a training.
    if (is_open("mpi"))
      made_[index_of("mpi")] = make_fabric("mpi", world_);
    else if (wants("mpi"))
      begin_mpi_without_torch();
    const std::string missing = missing_here("bare", world_);
    if (!missing.empty()) throw std::runtime_error(missing);
    std::unique_ptr<Fabric>& bare = wants("bare") ? made_[index_of("bare")] : spare_;
    try {
      bare = make_fabric("bare", world_);
      meeting_ = bare.get();
    } catch (const std::exception& error) {
      // This MPI does not support calls from several threads, so "bare" cannot run beside "mpi".
      // Every rank gets this error.
      if (!is_open("mpi")) throw;
      if (wants("bare")) why_[index_of("bare")] = one_line(error.what());
      meeting_ = made_[index_of("mpi")].get();
    }
  }

  // Tries Gloo with a short time limit. Ranks that cannot reach each other then find out within a
  // minute, and not only after the time limit of an operation. The result counts for NCCL too,
  // because its ranks meet over Gloo.
  void try_gloo() {
    if (meeting_ == nullptr || over_gloo_) return;
    if (!is_open("gloo") && !is_open("nccl")) return;
    std::string why;
    try {
      trial_ = make_fabric("gloo", world_, kMeetSeconds);
    } catch (const std::exception& error) {
      why = one_line(error.what());
    }
    why = agreed(why);
    for (const char* name : {"gloo", "nccl"})
      if (is_open(name)) why_[index_of(name)] = why;
  }

  void attempt(std::size_t i) {
    if (!why_[i].empty()) return;
    std::string why;
    try {
      if (!made_[i]) made_[i] = make_fabric(wanted_[i], world_);
    } catch (const std::exception& error) {
      why = one_line(error.what());
    }
    why_[i] = agreed(why);
  }

  Backends result() {
    Backends found;
    std::string all;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (why_[i].empty()) {
        found.names.push_back(wanted_[i]);
        found.fabrics.push_back(std::move(made_[i]));
      } else {
        found.missing.push_back({wanted_[i], why_[i]});
        all += (all.empty() ? "" : "; ") + wanted_[i] + ": " + why_[i];
        // This fabric may have initialised MPI, so it must live to finalise it.
        if (made_[i] && made_[i].get() == meeting_) spare_ = std::move(made_[i]);
      }
    }
    if (found.names.empty())
      throw std::runtime_error("there is no backend that all ranks can use: " + all);
    found.meeting = std::move(spare_);
    return found;
  }

  const std::vector<std::string>& wanted_;
  const World& world_;
  std::vector<std::unique_ptr<Fabric>> made_;
  std::vector<std::string> why_;  // why a backend is left out, or ""; indexed like wanted_
  Fabric* meeting_ = nullptr;     // null: no other rank to agree with
  bool over_gloo_ = false;
  std::unique_ptr<Fabric> spare_;
  std::unique_ptr<Fabric> trial_;
};

}  // namespace

Backends make_backends(const std::vector<std::string>& wanted, bool optional, const World& world) {
  return optional ? Choice(wanted, world).make() : make_all(wanted, world);
}

}  // namespace muster::programs::bench
