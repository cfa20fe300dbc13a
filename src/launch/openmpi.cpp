#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/engine_plans.hpp"
#include "launch/words.hpp"
#include "layout/network.hpp"

namespace muster::launch {
namespace {

// The parameters whose names differ between versions 4 and 5.
struct OpenMpiDialect {
  std::string_view flag;   // flag for parameters of the launcher
  std::string_view agent;  // the ssh command to use
  // Starts every daemon from this machine, because hosts may not reach each other.
  std::string_view no_tree;
  std::string_view interfaces;    // networks for connections of the launcher
  std::string_view launcher_env;  // prefix of variables that set these parameters
  std::string_view plm;           // the component that starts daemons by ssh
};
constexpr OpenMpiDialect kPrrte = {"--prtemca",       "plm_ssh_agent", "plm_ssh_no_tree_spawn",
                                   "prte_if_include", "PRTE_MCA_",     "ssh"};
constexpr OpenMpiDialect kOrte = {
    "--mca", "plm_rsh_agent", "plm_rsh_no_tree_spawn", "oob_tcp_if_include", "OMPI_MCA_", "rsh"};

// Whether a host is named by an IPv6 address. Such a name needs a host file, because in --host the
// part after a colon would be a number of ranks.
bool names_ipv6_address(const layout::Layout& layout) {
  return std::any_of(
      layout.placements.begin(), layout.placements.end(),
      [](const layout::Placement& one) { return !one.here && layout::is_ipv6(one.host); });
}

class OpenMpiWriter : CommandWriter {
 public:
  OpenMpiWriter(const layout::Job& job, const layout::Layout& layout, const Means& means)
      : CommandWriter(job, layout, means), dialect_(layout.engine.major >= 5 ? kPrrte : kOrte) {}

  Plan write() {
    argv_ = {layout_.engine.launcher};
    if (means_.as_root) add({"--allow-run-as-root"});
    // Only if needed: with these parameters mpirun fails if there is no ssh program.
    if (!all_here(layout_)) {
      set_launcher(dialect_.agent, fmt::format("{}", fmt::join(means_.ssh, " ")));
      set_launcher(dialect_.no_tree, "1");
    }
    // Open MPI ignores this parameter, but puts it on the command lines of its daemons, which shows
    // on every host to which run a daemon belongs.
    if (!means_.by_hand) add({std::string(dialect_.flag), "muster_run_id", means_.run_id});
    if (means_.user_env.contains("SLURM_JOB_ID")) {  // otherwise mpirun would start daemons by srun
      set_launcher("plm", std::string(dialect_.plm));
      set_launcher("ras", "^slurm");
    }
    add_network();
    add_hosts();
    add_binding();
    // Passes names only, because values must not be on a command line.
    for (const std::string& name : add_variables(job_, layout_, means_, plan_).names()) {
      add({"-x", name});
    }
    return finish();
  }

 private:
  // Sets an MCA parameter unless the user has set it by a variable or flag. The user's value wins
  // and is noted.
  void set(std::string_view flag, std::string_view prefix, std::string_view name,
           const std::string& value) {
    const std::string variable = std::string(prefix) + std::string(name);
    if (means_.user_env.contains(variable)) {
      plan_.notes.push_back(stays_as_variable(variable));
    } else if (given_by_user(job_, name)) {
      plan_.notes.push_back(stays_as_engine_arg(name));
    } else {
      add({std::string(flag), std::string(name), value});
    }
  }
  void set_launcher(std::string_view name, const std::string& value) {
    set(dialect_.flag, dialect_.launcher_env, name, value);
  }
  void set_mpi(std::string_view name, const std::string& value) {
    set("--mca", "OMPI_MCA_", name, value);
  }

  void add_network() {
    if (layout_.subnet.empty()) return;
    if (!all_here(layout_)) add_meeting();  // mpirun rejects loopback interfaces
    // In an IPv6 network, each rank process sets the name of its interface instead.
    if (!layout::is_ipv6(layout_.subnet)) set_mpi("btl_tcp_if_include", layout_.subnet);
  }

  // Sets the networks through which mpirun and its daemons connect.
  void add_meeting() {
    if (is_ipv6(layout_)) return add_ipv6_meeting();
    const std::string& other = layout_.launcher_subnet;
    set_launcher(dialect_.interfaces,
                 other.empty() ? layout_.subnet : fmt::format("{},{}", layout_.subnet, other));
  }

  // Open MPI accepts no IPv6 subnets, only names of interfaces, and version 5 crashes if a host
  // lacks one of them. So this switches IPv4 off, which also makes Open MPI ignore the bridges of
  // containers, and names an interface only if it has the same name everywhere.
  void add_ipv6_meeting() {
    set_launcher("oob_tcp_disable_ipv4_family", "1");
    std::set<std::string> names = {layout_.launcher_interface};
    for (const layout::Placement& one : layout_.placements) names.insert(one.interface);
    if (names.size() == 1 && !names.contains("")) set_launcher(dialect_.interfaces, *names.begin());
  }

  void add_hosts() {
    std::vector<std::string> hosts;
    for (const layout::Placement& placement : layout_.placements) {
      hosts.push_back(fmt::format("{}:{}", engine_host(placement), placement.ranks));
    }
    if (hosts.size() <= kMostInline && !names_ipv6_address(layout_)) {
      add({"--host", fmt::format("{}", fmt::join(hosts, ","))});
    } else {
      PlanFile file{.path = means_.folder + "/hosts", .content = {}};
      for (const layout::Placement& placement : layout_.placements) {
        file.content += fmt::format("{} slots={}\n", engine_host(placement), placement.ranks);
      }
      add({"--hostfile", file.path});
      plan_.files.push_back(std::move(file));
    }
    add({"-n", std::to_string(layout_.ranks)});
  }

  void add_binding() {
    if (!layout_.map_by.empty()) add({"--map-by", layout_.map_by});
    const std::string bind_to = engine_binding(layout_);
    if (!bind_to.empty()) add({"--bind-to", bind_to});
    if (layout_.oversubscribed) set_mpi("mpi_yield_when_idle", "1");
  }

  const OpenMpiDialect& dialect_;
};

}  // namespace

Result<Plan> plan_openmpi(const layout::Job& job, const layout::Layout& layout,
                          const Means& means) {
  for (const std::string& word : means.ssh) {
    if (all_here(layout) || word.find_first_of(" \t\n") == std::string::npos) continue;
    return unexpected(Error{
        .what = fmt::format("Open MPI cannot use the path '{}', because it contains a space", word),
        .hint =
            "Open MPI splits its ssh command at spaces; use a home directory whose path has none"});
  }
  return OpenMpiWriter(job, layout, means).write();
}

}  // namespace muster::launch
