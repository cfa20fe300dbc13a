#include "launch/words.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/endpoint.hpp"
#include "layout/network.hpp"

namespace muster::launch {

std::string stays_as_variable(std::string_view name) {
  return fmt::format("{} is set in your environment; muster does not change it", name);
}

std::string stays_as_engine_arg(std::string_view flag) {
  return fmt::format("{} comes from --engine-arg; muster does not change it", flag);
}

std::vector<std::string> Variables::names() const {
  std::vector<std::string> all = forwarded;
  all.insert(all.end(), defaults.begin(), defaults.end());
  all.insert(all.end(), {"MUSTER_FORWARD", "MUSTER_DEFAULT"});
  return all;
}

Variables add_variables(const layout::Job& job, const layout::Layout& layout, const Means& means,
                        Plan& plan) {
  Variables variables{.forwarded = job.env};
  const auto set_default = [&](const std::string& name, const std::string& value) {
    if (means.user_env.contains(name)) {
      plan.notes.push_back(stays_as_variable(name));
      return variables.forwarded.push_back(name);
    }
    plan.env.push_back(fmt::format("{}={}", name, value));
    variables.defaults.push_back(name);
  };
  set_default("OMP_NUM_THREADS", std::to_string(layout.threads));
  if (layout.rdma_given_up) {  // otherwise NCCL would use RDMA on some hosts and hang
    const std::string name = "NCCL_IB_DISABLE";
    set_default(name, "1");
    if (!means.user_env.contains(name)) {
      plan.notes.push_back("muster sets " + name +
                           "=1: the hosts share no RDMA fabric, so NCCL uses TCP");
    }
  }
  auto& forwarded = variables.forwarded;
  std::sort(forwarded.begin(), forwarded.end());
  forwarded.erase(std::unique(forwarded.begin(), forwarded.end()), forwarded.end());
  plan.env.push_back(fmt::format("MUSTER_FORWARD={}", fmt::join(forwarded, ",")));
  plan.env.push_back(fmt::format("MUSTER_DEFAULT={}", fmt::join(variables.defaults, ",")));
  return variables;
}

void set_for_engine(Plan& plan, const Means& means, const std::string& name,
                    const std::string& value) {
  if (means.user_env.contains(name)) {
    plan.notes.push_back(stays_as_variable(name));
  } else {
    plan.env.push_back(fmt::format("{}={}", name, value));
  }
}

std::vector<std::string> rank_words(const layout::Job& job, const layout::Layout& layout,
                                    const Means& means) {
  std::vector<std::string> words = {means.shim, "rank", "--run", means.run_id};
  if (means.by_hand) words.emplace_back("--by-hand");
  if (!layout.subnet.empty()) words.insert(words.end(), {"--subnet", layout.subnet});
  if (!layout.master_address.empty()) {
    words.insert(words.end(),
                 {"--master", endpoint_text(layout.master_address, layout.master_port)});
  }
  if (means.restarts_most >= 0) {
    words.insert(words.end(),
                 {"--restarts", fmt::format("{}:{}", means.restarts_made, means.restarts_most)});
  }
  if (job.confine_store) words.emplace_back("--confine-store");
  words.emplace_back("--");
  words.insert(words.end(), job.program.begin(), job.program.end());
  return words;
}

bool is_ipv6(const layout::Layout& layout) {
  return layout::is_ipv6(layout.subnet) || layout::is_ipv6(layout.launcher_subnet);
}

bool all_here(const layout::Layout& layout) {
  return std::all_of(layout.placements.begin(), layout.placements.end(),
                     [](const layout::Placement& placement) { return placement.here; });
}

std::string engine_host(const layout::Placement& placement) {
  return placement.here ? "localhost" : placement.host;
}

std::string engine_binding(const layout::Layout& layout) {
  return layout.bind_to == layout::kBindToGpu ? "none" : layout.bind_to;
}

// Treats --nproc_per_node like --nproc-per-node, as torchrun does.
bool given_by_user(const layout::Job& job, std::string_view flag) {
  const auto dashed = [](std::string_view text) {
    std::string name(text.substr(0, text.find('=')));
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
  };
  const std::string wanted = dashed(flag);
  return std::any_of(job.engine_args.begin(), job.engine_args.end(),
                     [&](const std::string& word) { return dashed(word) == wanted; });
}

int ranks_on_each(const layout::Layout& layout) {
  const int first = layout.placements.empty() ? 0 : layout.placements.front().ranks;
  const bool same = std::all_of(layout.placements.begin(), layout.placements.end(),
                                [&](const auto& one) { return one.ranks == first; });
  return same ? first : 0;
}

Plan CommandWriter::finish(const std::vector<std::string>& shim_flags) {
  add(job_.engine_args);
  std::vector<std::string> rank = rank_words(job_, layout_, means_);
  // The flags go after the two words "SHIM rank".
  rank.insert(rank.begin() + 2, shim_flags.begin(), shim_flags.end());
  add(rank);
  plan_.commands = {{.argv = std::move(argv_)}};
  return std::move(plan_);
}

}  // namespace muster::launch
