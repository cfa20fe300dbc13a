#include <algorithm>

#include <fmt/format.h>

#include "base/endpoint.hpp"
#include "launch/engine_plans.hpp"
#include "launch/words.hpp"
#include "sys/quote.hpp"

namespace muster::launch {
namespace {

using Words = std::vector<std::string>;

class TorchrunWriter {
 public:
  TorchrunWriter(const layout::Job& job, const layout::Layout& layout, const Means& means)
      : job_(job), layout_(layout), means_(means) {}

  Plan write() {
    // torchrun does not pass variables to other hosts, so muster does.
    plan_.carried = add_variables(job_, layout_, means_, plan_).names();
    for (std::size_t i = 0; i < layout_.placements.size(); ++i) {
      const layout::Placement& placement = layout_.placements[i];
      plan_.commands.push_back(
          {.argv = words_for(placement, job_.pods > 0 ? in_pod(placement) : at_meeting(i)),
           .host = placement.host,
           .input = placement.first_rank == 0});
    }
    for (const std::string& flag : replaced_) {
      plan_.notes.push_back(stays_as_engine_arg(flag));
    }
    return std::move(plan_);
  }

 private:
  // Adds "--flag value" unless the user gave the flag.
  void set(Words& words, const std::string& flag, const std::string& value) {
    if (!given_by_user(job_, flag)) {
      words.push_back(flag);
      words.push_back(value);
    } else if (std::find(replaced_.begin(), replaced_.end(), flag) == replaced_.end()) {
      replaced_.push_back(flag);
    }
  }

  // Whether to use the c10d rendezvous. It unpickles state from a store without authentication, so
  // muster uses it only if hosts may come and go, or if the user names a backend other than static.
  [[nodiscard]] bool is_elastic() const {
    const auto& words = job_.engine_args;
    const bool is_static = std::any_of(words.begin(), words.end(), [](std::string_view word) {
      return word == "static" || word.ends_with("backend=static");
    });
    return layout_.min_hosts > 0 || (given_by_user(job_, "--rdzv-backend") && !is_static);
  }

  // Every host uses its own torchrun. All of them get the same port, but only the first one listens
  // on it.
  Words at_meeting(std::size_t index) {
    const layout::Placement& placement = layout_.placements[index];
    const std::size_t hosts = layout_.placements.size();
    Words words = {layout_.engine.launcher};
    set(words, "--nnodes",
        layout_.min_hosts > 0 ? fmt::format("{}:{}", layout_.min_hosts, hosts)
                              : std::to_string(hosts));
    set(words, "--nproc-per-node", std::to_string(placement.ranks));
    set(words, "--rdzv-backend", is_elastic() ? "c10d" : "static");
    set(words, "--rdzv-endpoint", endpoint_text(layout_.master_address, layout_.master_port));
    set(words, "--rdzv-id", means_.run_id);
    if (is_elastic()) {
      set(words, "--rdzv-conf", index == 0 ? "is_host=1" : "is_host=0");
      if (!placement.address.empty()) set(words, "--local-addr", placement.address);
    } else {
      set(words, "--node-rank", std::to_string(index));
    }
    if (layout_.max_restarts > 0 || means_.restarts_most >= 0) {
      set(words, "--max-restarts", std::to_string(layout_.max_restarts));
    }
    return words;
  }

  Words in_pod(const layout::Placement& placement) {
    Words words = {layout_.engine.launcher};
    set(words, "--nnodes", std::to_string(job_.pods));
    set(words, "--node-rank", std::to_string(job_.pod));
    set(words, "--nproc-per-node", std::to_string(placement.ranks));
    set(words, "--master-addr", layout_.master_address);
    set(words, "--master-port", std::to_string(layout_.master_port));
    // Overrides PET_RDZV_* of the platform, which would win over the two flags above.
    set(words, "--rdzv-backend", "static");
    set(words, "--rdzv-endpoint", endpoint_text(layout_.master_address, layout_.master_port));
    set(words, "--max-restarts", std::to_string(layout_.max_restarts));
    return words;
  }

  Words on_host(const Words& torchrun) {
    Words words = {means_.shim, "engine", "--run", means_.run_id, "--folder", job_.folder, "--"};
    words.insert(words.end(), torchrun.begin(), torchrun.end());
    words.insert(words.end(), job_.engine_args.begin(), job_.engine_args.end());
    // torchrun starts the rank process, which is not a Python script. Without "--", torchrun would
    // take --run for an abbreviation of one of its own flags.
    words.insert(words.end(), {"--no-python", "--"});
    const Words rank = rank_words(job_, layout_, means_);
    words.insert(words.end(), rank.begin(), rank.end());
    return words;
  }

  Words words_for(const layout::Placement& placement, const Words& torchrun) {
    if (job_.pods > 0 || placement.here) return on_host(torchrun);
    Words words = means_.ssh;
    words.insert(words.end(), {"--", placement.host, "exec " + sys::quote(on_host(torchrun))});
    return words;
  }

  const layout::Job& job_;
  const layout::Layout& layout_;
  const Means& means_;
  Words replaced_;  // muster's flags that the user gave too
  Plan plan_;
};

}  // namespace

Result<Plan> plan_torchrun(const layout::Job& job, const layout::Layout& layout,
                           const Means& means) {
  if (layout.master_address.empty() || layout.master_port == 0) {
    return unexpected(Error{.what = "there is no address where torchrun's hosts could meet",
                            .hint = "pass an address: --master-addr ADDRESS --master-port PORT"});
  }
  return TorchrunWriter(job, layout, means).write();
}

}  // namespace muster::launch
