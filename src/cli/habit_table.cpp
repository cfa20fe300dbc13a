// The table of habits, one row each: flags of other launchers and what muster does with them. Other
// spellings of muster's own flags are in the tables of those flags. Flags of a single engine are in
// the engine's row of engines/table.cpp.
#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/flag_words.hpp"
#include "cli/habits.hpp"
#include "cli/run_options.hpp"
#include "engines/kind.hpp"
#include "sys/quote.hpp"

namespace muster::cli {
namespace {

std::string name_of(const Given& given) {
  return given.typed.front().substr(0, given.typed.front().find('='));
}

unexpected<Error> refusal(const Given& given, std::string hint) {
  return unexpected(Error{.code = ErrorCode::kUsage,
                          .what = fmt::format("{} belongs to another launcher", name_of(given)),
                          .hint = std::move(hint)});
}

// Replaces the flag with the flag of muster's own in `text`, which may include a value.
Result<Words> same(const Habit& habit, const Given& given) {
  Words words = split(habit.text, ' ');
  words.insert(words.end(), given.values.begin(), given.values.end());
  return words;
}

// Accepts a flag that needs no translation, because muster already behaves that way. Rejects values
// that are not in `only`.
Result<Words> done(const Habit& habit, const Given& given) {
  const Words accepted = split(habit.only, ' ');
  const bool is_so = accepted.empty() || std::find(accepted.begin(), accepted.end(),
                                                   given.values.front()) != accepted.end();
  if (is_so) return Words();
  return unexpected(
      Error{.code = ErrorCode::kUsage,
            .what = fmt::format("{} {} is not supported", name_of(given), given.values.front()),
            .hint = std::string(habit.text)});
}

// Sets NO_COLOR for muster itself. The ranks get it too, because muster passes this variable on.
Result<Words> colours(const Habit& habit, const Given& given) {
  if (given.values.front() == "never") {
    (void)::setenv("NO_COLOR", "1", 1);  // NOLINT(concurrency-mt-unsafe)
  }
  return done(habit, given);
}

Result<Words> refuse(const Habit& habit, const Given& given) {
  return refusal(given, std::string(habit.text));
}

// Returns " --flag=WORD" for each word as it was typed.
std::string handed_on(const std::string& flag, const Given& given) {
  std::string words;
  for (const std::string& word : given.typed) words += " " + sys::quote(flag + word);
  return words;
}

// Rejects a flag that belongs to the engine named in `text`, and shows how to pass it to that
// engine.
Result<Words> for_engine(const Habit& habit, const Given& given) {
  return refusal(given, fmt::format("to pass it to {}: --engine {}{}", habit.text, habit.text,
                                    handed_on("--engine-arg=", given)));
}

// Passes the flag on to the engine.
Result<Words> pass_on(const Habit&, const Given& given) {
  const std::string name = name_of(given);
  Words words = {"--engine-arg=" + (name.starts_with("--") ? name : "-" + name)};
  for (const std::string& value : given.values) words.push_back("--engine-arg=" + value);
  return words;
}

// Rejects a flag for requesting hosts from Slurm, and shows how to pass it on.
Result<Words> for_allocation(const Habit&, const Given& given) {
  return refusal(
      given, "to pass it to salloc or sbatch: --engine slurm" + handed_on("--slurm-arg=", given));
}

// Rejects a variable that is given as two words, name and value. The message omits the value, which
// may be secret.
Result<Words> variable(const Habit&, const Given& given) {
  return refusal(given, fmt::format("-x {}=VALUE", given.values.front()));
}

Result<Words> variable_names(const Habit&, const Given& given) {
  Words words;
  for (const std::string& name : split(given.values.front(), ',')) {
    words.insert(words.end(), {"-x", name});
  }
  return words;
}

// Reads srun's list, in which names may have values.
Result<Words> exported(const Habit& habit, const Given& given) {
  for (const std::string& name : split(given.values.front(), ',')) {
    if (name == "ALL" || name == "NONE" || name == "NIL") {
      return refusal(
          given,
          "name each variable with -x NAME; some, such as NCCL_DEBUG, are always passed "
          "(docs/config.md lists them); --activate sets up the environment on each host");
    }
  }
  return variable_names(habit, given);
}

// Reads HOST or HOST:PORT. An IPv6 address with a port must be in brackets.
Result<Words> endpoint(const Habit&, const Given& given) {
  const std::string& value = given.values.front();
  const std::size_t colon = value.rfind(':');
  const bool is_bare_ipv6 = value.find(':') != colon && !value.starts_with('[');
  const bool address_alone = colon == std::string::npos || value.ends_with(']') || is_bare_ipv6;
  Words words = {"--master-addr", address_alone ? value : value.substr(0, colon)};
  if (!address_alone) words.insert(words.end(), {"--master-port", value.substr(colon + 1)});
  return words;
}

// muster's -p is ssh's port, srun's -p is a partition.
Result<Words> port_or_partition(const Habit&, const Given& given) {
  const std::string& value = given.values.front();
  const bool number = value.find_first_not_of("0123456789") == std::string::npos;
  if (number && !value.empty()) return Words{"-p", value};
  return refusal(given,
                 fmt::format("-p is the hosts' ssh port; for Slurm's partition: --engine slurm {}",
                             sys::quote(std::string_view("--slurm-arg=--partition=" + value))));
}

constexpr std::string_view kLogs =
    "muster stores the output of every rank; to see it later: muster logs RUN, or muster logs RUN "
    "--rank N; the files are in ~/.local/state/muster/runs/ID, or in "
    "$XDG_STATE_HOME/muster/runs/ID";
constexpr std::string_view kFolder =
    "ranks start in the directory where you call muster (or in the home directory, on a host that "
    "does not have it): change to the directory first";
constexpr std::string_view kVariables =
    "name each variable with -x NAME; some, such as NCCL_DEBUG, are always passed (docs/config.md "
    "lists them)";
constexpr std::string_view kOneProgram =
    "all ranks run the same program; to run different ones, let a script choose by the variable "
    "RANK";

constexpr std::array kHabits = {
    // Number and placement of ranks.
    Habit{"--pernode", 0, same, "--nproc-per-node 1"},
    Habit{"--standalone", 0, same, "--nnodes 1"},
    Habit{"--nooversubscribe --no-oversubscribe", 0, done},
    Habit{"-c", 1, refuse,
          "for the CPUs per rank, as in srun: --threads N; for the number of ranks, as in mpirun: "
          "-n N"},
    Habit{"--nolocal", 0, refuse,
          "only hosts in the list get ranks; leave this machine out of the list"},
    Habit{"--rankfile --rf --rankmap --distribution", 1, refuse,
          "muster fills one host after the other; for another order, use --map-by with the "
          "engine's own values"},
    // Rendezvous.
    Habit{"--rdzv-backend", 1, done,
          "leave it out: muster uses the static rendezvous, or c10d with --nnodes MIN:MAX",
          "c10d static"},
    Habit{"--rdzv-endpoint", 1, endpoint},
    Habit{"--rdzv-id", 1, done},
    Habit{"--iface", 1, refuse,
          "muster chooses a network that all hosts share; to use another one, pass the first "
          "host's address in it: --master-addr ADDRESS"},
    // Environment.
    Habit{"--genv -env", 2, variable},
    Habit{"--genvlist --envlist", 1, variable_names},
    Habit{"--genvall --envall --genvnone --envnone", 0, refuse, kVariables},
    Habit{"--export", 1, exported},
    Habit{"--wdir --wd --chdir -D", 1, refuse, kFolder},
    Habit{"--prefix", 1, refuse, "--launcher DIR/bin/mpirun"},
    // Output and input.
    Habit{"--tag-output -l --label --prepend-rank --unbuffered --kill-on-bad-exit -K", 0, done},
    Habit{"--output", 1, done, kLogs, "tag"},
    Habit{"--tee", 1, done, kLogs, "3"},
    Habit{"-t", 1, refuse,
          "for -t of torchrun: --tee 3; for the time limit, as in srun: --timeout 2h"},
    Habit{"--log-dir --redirects -r --output-filename --outfile-pattern --errfile-pattern -o -e "
          "--error",
          1, refuse, kLogs},
    Habit{"--local-ranks-filter", 1, refuse,
          "to show only some ranks: --show 0,8; to see one later: muster logs --rank N"},
    Habit{"--role", 1, refuse,
          "leave it out: muster labels output with [host:rank], and every rank has the role "
          "'default'"},
    Habit{"--prepend-pattern", 1, refuse, "leave it out: muster labels output with [host:rank]"},
    Habit{"--stdin --input -i -s", 1, refuse,
          "rank 0 reads muster's own standard input: muster run ... < FILE"},
    Habit{"--color", 1, colours, "leave it out: muster colours its output on terminals only",
          "auto never"},
    Habit{"--print-rank-map --display-map --display-allocation --report-bindings", 0, refuse,
          "to see what muster decided: -v; to see the engine's command: --dry-run"},
    // What muster does by default or in another way.
    Habit{"--allow-run-as-root", 0, done},
    Habit{"-launcher --bootstrap", 1, done,
          "muster starts the ranks over ssh, or through Slurm with --engine slurm", "ssh"},
    Habit{"--launcher-exec --bootstrap-exec", 1, refuse,
          "muster uses the ssh in PATH and your ~/.ssh/config"},
    Habit{"--rmk", 1, refuse,
          "inside a Slurm job, use --engine slurm; otherwise name the hosts with -H or --hostfile"},
    Habit{"--app --configfile --multi-prog", 1, refuse, kOneProgram},
    Habit{"--run-path", 0, refuse, "leave it out: muster starts .py files with python3"},
    Habit{"--time", 1, refuse,
          "use --timeout 2h; for Slurm's own limit: --engine slurm --slurm-arg=--time=LIMIT"},
    Habit{"--pty", 0, refuse,
          "muster gives ranks no terminal; for a shell on a host: muster exec -i -H HOST"},
    Habit{"-p", 1, port_or_partition},
    // For Slurm.
    Habit{"--partition --account -A --qos --job-name -J --gres --gpus -G --gpus-per-node "
          "--gpus-per-task --mem --mem-per-cpu --constraint -C --reservation",
          1, for_allocation},
    Habit{"--exclusive", 0, for_allocation},
    Habit{"--jobid", 1, refuse,
          "start muster inside that job; for a shell there: srun --jobid ID --pty sh"},
};

std::vector<Habit> all_habits() {
  std::vector<Habit> all(kHabits.begin(), kHabits.end());
  for (const Flag& flag : run_flags()) {
    if (flag.foreign.empty()) continue;
    all.push_back({flag.foreign, flag.takes_value() ? 1 : 0, same, long_name(flag)});
  }
  for (const engines::Kind& kind : engines::all()) {
    for (const engines::Flags& flags : kind.flags) {
      if (flags.passed_on) {
        all.push_back(
            {.names = flags.names, .values = flags.values, .read = pass_on, .engine = kind.word});
      } else {
        all.push_back({flags.names, flags.values, for_engine, kind.word});
      }
    }
  }
  return all;
}

}  // namespace

bool refuses(const Habit& habit) {
  return habit.read == refuse;
}

std::span<const Habit> habits() {
  static const std::vector<Habit> kAll = all_habits();
  return kAll;
}

}  // namespace muster::cli
