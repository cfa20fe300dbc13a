// muster lab: simulates hosts with namespaces, to practise before paying for machines.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.hpp"
#include "cli/command.hpp"
#include "hosts/expression.hpp"
#include "lab/breakage.hpp"
#include "lab/damage.hpp"
#include "lab/fault.hpp"
#include "lab/hardware.hpp"
#include "lab/lab.hpp"
#include "lab/lock.hpp"
#include "lab/node.hpp"
#include "sys/print.hpp"

namespace muster::cli {
namespace {

struct LabOptions {
  lab::Spec spec;
  std::string hosts;  // a host expression
  std::string what;
  std::string argument;
  std::vector<std::string> words;
  std::string rate;
  std::string delay;
  std::string loss;
  bool only_ssh = false;
  std::size_t largest = 0;
  std::string between;
  int nic = 0;
  bool root = false;
  bool clear = false;
  bool all = false;
  bool json = false;
  bool dry_run = false;
};

using Options = std::shared_ptr<LabOptions>;

Result<void> need_root() {
  if (::geteuid() == 0) return {};
  return unexpected(Error{
      .code = ErrorCode::kUsage,
      .what = "muster lab needs root, because it creates namespaces, mounts and network links",
      .hint = "run the same command with sudo"});
}

// The torch packages in the usual directories of Python. They are hidden from the lab's launcher,
// which must not have torch by accident.
std::vector<std::string> torch_folders() {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const char* base : {"/usr/lib", "/usr/local/lib"}) {
    for (const auto& entry : std::filesystem::directory_iterator(base, ignored)) {
      if (entry.path().filename().string().rfind("python", 0) != 0) continue;
      for (const char* packages : {"dist-packages", "site-packages"}) {
        const auto torch = entry.path() / packages / "torch";
        if (std::filesystem::is_directory(torch, ignored)) found.push_back(torch);
      }
    }
  }
  return found;
}

Result<int> lab_up(const LabOptions& options) {
  lab::Spec spec = options.spec;
  for (std::string& folder : torch_folders()) spec.launcher_lacks.push_back(std::move(folder));
  if (options.dry_run) {
    MUSTER_TRY(const std::vector<std::string> lines, lab::dry_run(spec));
    for (const std::string& line : lines) sys::print_out("{}\n", line);
    return 0;
  }
  MUSTER_TRY(const lab::Spec built, lab::up(spec));
  const std::string name = built.name == "default" ? "" : " --name " + built.name;
  sys::print_out("lab '{}' is up: hosts n1 to n{}, and launcher\n", built.name, built.hosts);
  sys::print_out("user {}, password {} (the same on every host; no keys yet)\n", built.user,
                 built.password);
  sys::print_out("next: muster lab shell launcher{}\n", name);
  return 0;
}

Result<int> lab_down(const LabOptions& options) {
  std::vector<std::string> names = {options.spec.name};
  if (options.all) names = lab::labs();
  Result<int> result = 0;
  for (const std::string& name : names) {
    const Result<bool> was_there = lab::down(name);
    if (was_there) {
      sys::print_out("lab '{}' {}\n", name, *was_there ? "is gone" : "did not exist");
    } else {  // continue with the other labs
      result =
          unexpected(because(was_there.error(), fmt::format("could not remove lab '{}'", name)));
    }
  }
  return result;
}

nlohmann::json to_json(const lab::Status& status) {
  nlohmann::json hosts = nlohmann::json::array();
  for (const lab::HostStatus& host : status.hosts) {
    hosts.push_back({{"name", host.name},
                     {"up", host.up},
                     {"connected", host.connected},
                     {"shaped", host.shaped},
                     {"addresses", host.addresses},
                     {"interfaces", host.interfaces}});
  }
  return {{"name", status.spec.name},     {"user", status.spec.user},
          {"uid", status.spec.uid},       {"password", status.spec.password},
          {"shares", status.spec.shares}, {"hosts", hosts}};
}

Result<int> lab_status(const LabOptions& options) {
  MUSTER_TRY(const lab::Status status, lab::status(options.spec.name));
  if (options.json) {
    sys::print_out("{}\n", json_text(to_json(status), 2));
    return 0;
  }
  sys::print_out("lab '{}': user {}, password {}\n", status.spec.name, status.spec.user,
                 status.spec.password);
  sys::print_out("{:<10} {:<5} {:<13} {}\n", "HOST", "STATE", "CABLE", "INTERFACES");
  for (const lab::HostStatus& host : status.hosts) {
    std::string interfaces;
    for (std::size_t i = 0; i < host.addresses.size(); ++i) {
      interfaces += fmt::format("{} {}  ", host.interfaces[i], host.addresses[i]);
    }
    std::string cable = host.connected ? "connected" : "cut";
    if (host.connected && host.shaped) cable = "shaped";
    sys::print_out("{:<10} {:<5} {:<13} {}\n", host.name, host.up ? "up" : "down",
                   host.up ? cable : "-", interfaces.substr(0, interfaces.size() - 2));
  }
  return 0;
}

Result<int> lab_exec(const LabOptions& options) {
  if (options.words.empty()) return unexpected(no_program("muster lab exec n1 -- hostname"));
  MUSTER_TRY(const lab::Spec spec, lab::load(options.spec.name));
  MUSTER_TRY(const int host, lab::host_number(spec, options.hosts));
  return lab::inside(spec, lab::host_name(host), options.root ? lab::As::kRoot : lab::As::kUser,
                     [&] { return lab::exec_command(spec, options.root, options.words); });
}

// Applies the action to each host of the expression.
Result<int> on_hosts(const LabOptions& options,
                     const std::function<Result<void>(const lab::Spec&, int)>& action) {
  MUSTER_TRY(const lab::Spec spec, lab::load(options.spec.name));
  MUSTER_TRY(const std::vector<hosts::Host> wanted, hosts::parse_expression(options.hosts));
  std::vector<int> numbers;
  for (const hosts::Host& host : wanted) {
    MUSTER_TRY(const int number, lab::host_number(spec, host.name));
    numbers.push_back(number);
  }
  MUSTER_TRY(const lab::Lock lock, lab::Lock::take(spec.name, lab::Lock::kExisting));
  for (const int number : numbers) MUSTER_CHECK(action(spec, number));
  return 0;
}

Result<int> lab_link(const LabOptions& options) {
  lab::Shape shape;
  if (!options.rate.empty()) {
    MUSTER_TRY(shape.bits_per_second, lab::parse_rate(options.rate));
  }
  if (!options.delay.empty()) {
    MUSTER_TRY(shape.delay_us, lab::parse_delay(options.delay));
  }
  if (!options.loss.empty()) {
    MUSTER_TRY(shape.loss, lab::parse_loss(options.loss));
  }
  shape.only_ssh = options.only_ssh;
  shape.largest = options.largest;
  if ((shape == lab::Shape{}) != options.clear) {
    return unexpected(
        Error{.code = ErrorCode::kUsage,
              .what = "muster lab link needs to know what to change",
              .hint = "pass --rate 1gbit, --delay 2ms, --loss 1%, --only-ssh or --largest 1400, or "
                      "only --clear"});
  }
  if (!options.between.empty() && shape.loss == 0 && !shape.only_ssh && shape.largest == 0) {
    return unexpected(Error{.code = ErrorCode::kUsage,
                            .what = "--between needs to know what to lose",
                            .hint = "add --loss 1%, --only-ssh or --largest 1400"});
  }
  return on_hosts(options, [&](const lab::Spec& spec, int host) -> Result<void> {
    std::optional<int> peer;
    if (!options.between.empty()) {
      MUSTER_TRY(peer, lab::host_number(spec, options.between));
    }
    return lab::link(spec, host, options.nic, shape, peer);
  });
}

// Adds a command of `muster lab`. `examples` has two lines.
CLI::App* add(CLI::App& lab, const Options& options, Action& action, const char* name,
              const char* help, const char* examples,
              std::function<Result<int>(const LabOptions&)> run) {
  CLI::App* command = lab.add_subcommand(name, help);
  command->footer(fmt::format("Examples:\n{}", examples));
  command->add_option("--name", options->spec.name, "Name of the lab, if there are several")
      ->capture_default_str();
  command->callback([options, &action, run = std::move(run)] {
    action = [options, run]() -> Result<int> {
      MUSTER_CHECK(need_root());
      ::umask(022);  // files of the hosts must not depend on the caller's umask
      return run(*options);
    };
  });
  return command;
}

void add_up(CLI::App& lab, const Options& options, Action& action) {
  constexpr const char* kHosts = "What the hosts are like";
  CLI::App* up = add(lab, options, action, "up",
                     "Create a lab: hosts n1 to nN, and a host 'launcher' to work from",
                     "  muster lab up --nodes 3\n"
                     "  muster lab up --nodes 4 --like dgx-h100",
                     lab_up);
  up->add_option("-N,--nodes,--nnodes", options->spec.hosts, "Number of hosts besides the launcher")
      ->required()
      ->group(kHosts);
  up->add_option("--nics", options->spec.nics, "Networks per host, 1 or 2")
      ->capture_default_str()
      ->group(kHosts);
  up->add_option(
        "--nic-names", options->spec.nic_names,
        "Comma-separated names for the hosts' first interface, assigned in turn: eth0,ens5,eno1")
      ->delimiter(',')
      ->group(kHosts);
  up->add_option("--ip", options->spec.ip,
                 "Addresses of the hosts: 4 (IPv4), 6 (IPv6 only) or both")
      ->capture_default_str()
      ->group(kHosts);
  up->add_option("--like", options->spec.like,
                 fmt::format("Show the GPUs and network cards of this machine: {}",
                             fmt::join(lab::profile_names(), ", ")))
      ->type_name("MACHINE")
      ->group(kHosts);
  up->add_option("--user", options->spec.user, "Name of the ordinary user on every host")
      ->capture_default_str()
      ->group(kHosts);
  up->add_option("--rootfs", options->spec.root,
                 "Root file system of the hosts, except the launcher; default: this machine's")
      ->type_name("PATH")
      ->group(kHosts);
  up->add_option("--share", options->spec.shares,
                 "Directory of this machine that all hosts share, as over NFS; may be repeated")
      ->type_name("PATH")
      ->group(kHosts);
  up->add_option("--launcher-lacks", options->spec.launcher_lacks,
                 "Directory of this machine that is empty on the host 'launcher'; may be repeated")
      ->type_name("PATH")
      ->group(kHosts);
  up->add_flag("--dry-run", options->dry_run, "Print what muster would do, without doing it");
}

void add_inside(CLI::App& lab, const Options& options, Action& action, const Program& program) {
  CLI::App* exec =
      add(lab, options, action, "exec", "Run a command on a host's console, without ssh",
          "  muster lab exec n1 -- hostname\n"
          "  muster lab exec launcher -- muster check -H n1,n2",
          lab_exec);
  exec->formatter(help_formatter("-- COMMAND [ARGUMENTS]"));
  exec->preparse_callback([options, &program](std::size_t) { options->words = program; });
  CLI::App* shell = add(lab, options, action, "shell", "Open a shell on a host",
                        "  muster lab shell launcher\n"
                        "  muster lab shell n1 --root",
                        lab_exec);
  shell->preparse_callback([options](std::size_t) { options->words = {"bash", "-l"}; });
  for (CLI::App* command : {exec, shell}) {
    command->add_option("HOST", options->hosts, "n1, n2, ... or launcher")->required();
    command->add_flag("--root", options->root, "Act as root instead of the ordinary user");
  }
}

void add_faults(CLI::App& lab, const Options& options, Action& action) {
  struct Fault {
    const char* name;
    const char* help;
    Result<void> (*apply)(const lab::Spec&, int);
  };
  constexpr Fault kFaults[] = {
      {"cut", "Drop all network frames to and from a host; its interfaces stay up", lab::cut},
      {"mend", "Undo cut, and repair the hardware that break has broken", lab::mend},
      {"kill", "Kill all processes of a host; other hosts see their connections close", lab::kill},
      {"crash", "Simulate a power loss: the host stops without closing its connections",
       lab::crash},
      {"restart", "Boot a host again, with the contents of its disk", lab::restart},
  };
  for (const Fault& fault : kFaults) {
    const auto apply = fault.apply;
    const std::string examples =
        fmt::format("  muster lab {0} n2\n  muster lab {0} 'n[1-3]'", fault.name);
    CLI::App* command = add(lab, options, action, fault.name, fault.help, examples.c_str(),
                            [apply](const LabOptions& given) { return on_hosts(given, apply); });
    command->add_option("HOSTS", options->hosts, "Hosts, such as n2 or n[1-3]")->required();
  }
}

void add_link(CLI::App& lab, const Options& options, Action& action) {
  CLI::App* link =
      add(lab, options, action, "link", "Make a host's network link slow, lossy or filtered",
          "  muster lab link n2 --rate 1gbit --delay 2ms\n"
          "  muster lab link n2 --clear",
          lab_link);
  link->add_option("HOSTS", options->hosts, "Hosts, such as n2 or n[1-3]")->required();
  link->add_option("--rate", options->rate, "Speed in each direction, such as 1gbit");
  link->add_option("--delay", options->delay, "Added round-trip time, such as 2ms")
      ->type_name("TIME");
  link->add_option("--loss", options->loss, "Share of frames lost in each direction, such as 1%")
      ->type_name("PERCENT");
  link->add_flag("--only-ssh", options->only_ssh,
                 "Drop new TCP connections to the host except to port 22, as a firewall would");
  link->add_option("--largest", options->largest,
                   "Drop larger IP packets without notice, as a path with a smaller MTU would")
      ->type_name("BYTES");
  link->add_option("--between", options->between,
                   "Lose or drop only what travels to and from this other host")
      ->type_name("HOST");
  link->add_option("--nic", options->nic, "Number of the network, 0 or 1")->capture_default_str();
  link->add_flag("--clear", options->clear, "Remove all limits");
}

void add_break(CLI::App& lab, const Options& options, Action& action) {
  CLI::App* command = add(lab, options, action, "break",
                          "Break one thing on a host, such as a limit, a GPU or a network port", "",
                          [](const LabOptions& given) {
                            std::string what = given.what, argument = given.argument;
                            const std::size_t equals = what.find('=');
                            if (argument.empty() && equals != std::string::npos) {
                              argument = what.substr(equals + 1);
                              what.resize(equals);
                            }
                            return on_hosts(given, [&](const lab::Spec& spec, int host) {
                              return lab::break_host(spec, host, what, argument);
                            });
                          });
  command->add_option("HOSTS", options->hosts, "Hosts, such as n2 or n[1-3]")->required();
  std::string known = "WHAT is one of:";
  const auto add_row = [&](std::string_view name, std::string_view argument,
                           std::string_view what) {
    known += fmt::format("\n  {:<23} {}", fmt::format("{} {}", name, argument), what);
  };
  for (const lab::Breakage& row : lab::breakages()) add_row(row.name, row.argument, row.what);
  known +=
      "\n\nOn hosts that show hardware (lab up --like), WHAT may also be one of these.\n"
      "GPUs and rails are counted from 0; a rail may also be named: rail=mlx5_3.";
  for (const lab::Damage& row : lab::damages()) add_row(row.name, row.argument, row.what);
  command->add_option("WHAT", options->what, "What to break, such as docker0")->required();
  command->add_option("ARGUMENT", options->argument,
                      "Argument of WHAT, if it takes one; WHAT=ARGUMENT means the same");
  command->footer(known +
                  "\n\nExamples:\n"
                  "  muster lab break n2 docker0\n"
                  "  muster lab break n2 rail=3");
}

}  // namespace

void add_lab(CLI::App& app, Action& action, const Program& program) {
  auto options = std::make_shared<LabOptions>();
  CLI::App* lab = app.add_subcommand(
      "lab", "Simulate a cluster on this machine to try things out (needs root)");
  lab->require_subcommand(1);
  lab->footer(
      "muster lab COMMAND --help shows a command's flags.\n\n"
      "Examples:\n"
      "  muster lab up --nodes 3\n"
      "  muster lab shell launcher");
  add_up(*lab, options, action);
  CLI::App* down = add(*lab, options, action, "down", "Remove a lab",
                       "  muster lab down\n  muster lab down --all", lab_down);
  down->add_flag("--all", options->all, "Remove every lab on this machine");
  CLI::App* status = add(*lab, options, action, "status", "Show the hosts of a lab",
                         "  muster lab status\n  muster lab status --json", lab_status);
  status->add_flag("--json", options->json, "Print JSON");
  add_inside(*lab, options, action, program);
  add_faults(*lab, options, action);
  add_link(*lab, options, action);
  add_break(*lab, options, action);
}

}  // namespace muster::cli
