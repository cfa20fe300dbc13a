#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/engine_plans.hpp"
#include "launch/words.hpp"
#include "sys/quote.hpp"

namespace muster::launch {
namespace {

// A flag, its other spellings, and the variable with the same meaning. Hydra fails if it gets a
// flag twice.
struct Flag {
  std::string_view name;
  std::string_view variable = {};
  std::array<std::string_view, 4> others = {};
};

struct HydraDialect {
  Flag launcher;
  Flag launcher_exec;
  Flag host_file;  // lists the number of ranks after each name
  Flag ranks_per_host;
  Flag environment;  // which of our variables the ranks get
  std::string_view autofork;
  std::initializer_list<std::string_view> forwarded;  // name prefixes of its own settings
};

constexpr Flag kHosts = {"-hosts", "", {"-host", "-hostlist", "-machinelist", "-hosts-group"}};
constexpr Flag kRanks = {"-n", "", {"-np"}};

const HydraDialect mpich_dialect = {
    .launcher = {"-launcher", "HYDRA_LAUNCHER", {"-bootstrap"}},
    .launcher_exec = {"-launcher-exec", "HYDRA_LAUNCHER_EXEC", {"-bootstrap-exec"}},
    .host_file = {"-f", "", {"-hostfile", "-machinefile", "-machine"}},
    .ranks_per_host = {"-ppn", "", {"-perhost"}},
    .environment = {"-genvnone", "HYDRA_ENV", {"-genvall", "-genvlist"}},
    .autofork = "HYDRA_LAUNCHER_AUTOFORK",
    .forwarded = {"MPICH_", "MPIR_CVAR_"}};
const HydraDialect intel_dialect = {
    .launcher = {"-bootstrap", "I_MPI_HYDRA_BOOTSTRAP", {"-launcher"}},
    .launcher_exec = {"-bootstrap-exec", "I_MPI_HYDRA_BOOTSTRAP_EXEC", {"-launcher-exec"}},
    .host_file = {"-machinefile", "", {"-machine", "-hostfile", "-f"}},
    .ranks_per_host = {"-ppn", "I_MPI_PERHOST", {"-perhost"}},
    .environment = {"-genvlist", "", {"-genvall", "-genvnone", "-genvexcl"}},
    .autofork = "I_MPI_HYDRA_BOOTSTRAP_AUTOFORK",
    .forwarded = {"I_MPI_"}};

// On this machine, starts hydra's daemon with a shell, as sshd would on another host.
constexpr std::string_view kWithoutSsh = R"(host=
for word do case $host$word in -*) ;; *) host=${host:-$word} ;; esac; done
if [ "$host" = localhost ]; then
  until [ "$1" = localhost ]; do shift; done
  shift
  exec /bin/sh -c "exec $*"
fi
)";

class HydraWriter : CommandWriter {
 public:
  HydraWriter(const layout::Job& job, const layout::Layout& layout, const Means& means)
      : CommandWriter(job, layout, means),
        intel_(layout.engine.kind == "intel"),
        dialect_(intel_ ? intel_dialect : mpich_dialect) {}

  Plan write() {
    argv_ = {launcher()};
    add_ssh();
    add_network();
    add_hosts();
    add_binding();
    add_folder();
    add_environment();
    // Hydra keeps the standard input of all ranks but the first open forever, unless Intel's -s
    // sends input to them.
    if (!given("-s")) shim_flags_.emplace_back("--only-first-reads");
    return finish(shim_flags_);
  }

 private:
  [[nodiscard]] bool given(std::string_view flag) const {
    return !flag.empty() &&
           (given_by_user(job_, flag) || given_by_user(job_, fmt::format("-{}", flag)));
  }

  // Whether muster may set this. If not, the user has set it: that value wins and is noted.
  bool is_ours(const Flag& flag) {
    if (!flag.variable.empty() && means_.user_env.contains(std::string(flag.variable))) {
      plan_.notes.push_back(stays_as_variable(flag.variable));
      return false;
    }
    std::string_view users = given(flag.name) ? flag.name : std::string_view();
    for (const std::string_view other : flag.others) {
      if (given(other)) users = other;
    }
    if (users.empty()) return true;
    plan_.notes.push_back(stays_as_engine_arg(users));
    return false;
  }

  // Returns false if the user's own setting stays.
  bool set(const Flag& flag, const std::string& value) {
    if (!is_ours(flag)) return false;
    add({std::string(flag.name), value});
    return true;
  }

  // Sets the variable for the engine and the ranks.
  void set_variable(const std::string& name, const std::string& value) {
    set_for_engine(plan_, means_, name, value);
    if (!means_.user_env.contains(name)) own_variables_.push_back(name);
  }

  // Intel's mpirun is a script that looks for a batch system and then runs mpiexec.hydra. A signal
  // would end only the script.
  [[nodiscard]] std::string launcher() const {
    constexpr std::string_view kScript = "/mpirun";
    const std::string& path = layout_.engine.launcher;
    if (!intel_ || !path.ends_with(kScript)) return path;
    return path.substr(0, path.size() - kScript.size()) + "/mpiexec.hydra";
  }

  // Hydra expects one program and calls it like ssh. The script adds the run's mark to the daemon's
  // environment. By this mark, the host's warden finds a daemon that stays behind, as Intel's does
  // if it loses the connection early.
  [[nodiscard]] std::string ssh_script() const {
    return fmt::format(R"(#!/bin/sh
mark=MUSTER_RUN_ID={}
for word do
  shift
  case $mark$word in MUSTER*/hydra_*_proxy*) set -- "$@" env "$mark"; mark= ;; esac
  set -- "$@" "$word"
done
{}exec {} "$@"
)",
                       means_.run_id, is_host_too() ? kWithoutSsh : "", sys::quote(means_.ssh));
  }

  [[nodiscard]] bool is_host_too() const {
    return std::any_of(layout_.placements.begin(), layout_.placements.end(),
                       [](const layout::Placement& placement) { return placement.here; });
  }

  void add_ssh() {
    set(dialect_.launcher, "ssh");
    if (is_ours(dialect_.launcher_exec)) {
      const std::string path = means_.folder + "/ssh";
      add({std::string(dialect_.launcher_exec.name), path});
      plan_.files.push_back({.path = path, .content = ssh_script(), .mode = 0700});
    }
    // With autofork, ranks on this machine would get a different environment from those on other
    // hosts.
    set_for_engine(plan_, means_, std::string(dialect_.autofork), "0");
    // Starts every daemon from this machine, because hosts may not reach each other.
    if (intel_) {
      set({"-branch-count", "I_MPI_HYDRA_BRANCH_COUNT"}, std::to_string(layout_.placements.size()));
    }
  }

  // Sets the address to which daemons connect. The default is our hostname, which hosts may resolve
  // differently. The network between ranks is set by the rank processes, which know the names of
  // their host's interfaces.
  void add_network() {
    const Flag by_interface = intel_ ? Flag{"-iface", "I_MPI_HYDRA_IFACE"}
                                     : Flag{"-localhost", "HYDRA_IFACE", {"-iface"}};
    const std::string& ours = intel_ ? layout_.launcher_interface : layout_.launcher_address;
    if (!ours.empty()) set(by_interface, ours);
    if (intel_ && is_ipv6(layout_) && is_ours({"-v6"})) add({"-v6"});
  }

  void add_hosts() {
    const int each = ranks_on_each(layout_);
    if (each > 0 && layout_.placements.size() <= kMostInline) {
      std::vector<std::string> hosts;
      for (const layout::Placement& placement : layout_.placements)
        hosts.push_back(engine_host(placement));
      set(kHosts, fmt::format("{}", fmt::join(hosts, ",")));
      plan_.counts_may_differ = !set(dialect_.ranks_per_host, std::to_string(each));
    } else if (is_ours(dialect_.host_file)) {
      PlanFile file{.path = means_.folder + "/hosts", .content = {}};
      for (const layout::Placement& placement : layout_.placements) {
        file.content += fmt::format("{}:{}\n", engine_host(placement), placement.ranks);
      }
      add({std::string(dialect_.host_file.name), file.path});
      plan_.files.push_back(std::move(file));
    }
    set(kRanks, std::to_string(layout_.ranks));
  }

  void add_binding() {
    const std::string bind_to = engine_binding(layout_);
    if (!intel_) {
      if (!bind_to.empty()) set({"-bind-to", "HYDRA_BINDING"}, bind_to);
      if (!layout_.map_by.empty()) set({"-map-by", "HYDRA_MAPPING"}, layout_.map_by);
      if (layout_.oversubscribed) set_variable("MPIR_CVAR_POLLS_BEFORE_YIELD", "1");
      return;
    }
    const bool binds = !bind_to.empty() && bind_to != "none";
    set_variable("I_MPI_PIN", binds ? "1" : "0");
    if (binds) set_variable("I_MPI_PIN_DOMAIN", bind_to);
    if (!layout_.map_by.empty()) set_variable("I_MPI_PIN_ORDER", layout_.map_by);
    if (layout_.oversubscribed) set_variable("I_MPI_THREAD_YIELD", "2");
  }

  // MPICH's daemon fails if our folder does not exist on the host. So the rank process changes to
  // our folder, and falls back to another one if it does not exist.
  void add_folder() {
    if (intel_ || job_.folder.empty() || !is_ours({"-wdir"})) return;
    add({"-wdir", "/"});
    shim_flags_.insert(shim_flags_.end(), {"--folder", job_.folder});
  }

  [[nodiscard]] bool is_engines_own(const std::string& name) const {
    if (name.starts_with("I_MPI_HYDRA_")) return false;  // of the launcher, not of the ranks
    return std::any_of(dialect_.forwarded.begin(), dialect_.forwarded.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
  }

  // By default, hydra passes our whole environment to the ranks, including PATH and HOME. With a
  // list of names, MPICH 5.0 passes only the first one. So for MPICH, muster carries the values
  // itself.
  void add_environment() {
    layout::Job job = job_;
    for (const std::string& name : means_.user_env) {
      if (is_engines_own(name)) job.env.push_back(name);
    }
    std::vector<std::string> names = add_variables(job, layout_, means_, plan_).names();
    names.insert(names.end(), own_variables_.begin(), own_variables_.end());
    if (intel_) {
      set(dialect_.environment, fmt::format("{}", fmt::join(names, ",")));
      return;
    }
    if (is_ours(dialect_.environment)) add({std::string(dialect_.environment.name)});
    plan_.carried = std::move(names);
  }

  bool intel_;
  const HydraDialect& dialect_;
  std::vector<std::string> own_variables_;  // names of variables that muster sets
  std::vector<std::string> shim_flags_;
};

}  // namespace

Result<Plan> plan_hydra(const layout::Job& job, const layout::Layout& layout, const Means& means) {
  return HydraWriter(job, layout, means).write();
}

}  // namespace muster::launch
