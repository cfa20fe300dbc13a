#include "muster/job.hpp"

#include <charconv>
#include <cstdlib>
#include <stdexcept>

#include "base/endpoint.hpp"
#include "base/environment.hpp"
#include "rankenv/rank.hpp"
#include "recorder/server.hpp"

namespace muster {
namespace {

constexpr std::size_t kShown = 40;  // characters of a value that are shown

std::string value_of(const rankenv::Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

// Returns MASTER_ADDR or MASTER_PORT. A pod may set it as NAME, as PET_NAME (the variable for
// torchrun's flag), or as both, which must then be equal. `by_pod` is false if a launcher in the
// pod started this rank: it sets NAME itself, so that PET_NAME does not matter.
std::string master_value(const rankenv::Environment& environment, const std::string& name,
                         bool by_pod) {
  const std::string plain = value_of(environment, name.c_str());
  const std::string pods = value_of(environment, ("PET_" + name).c_str());
  if (by_pod && !plain.empty() && !pods.empty() && plain != pods) {
    throw std::runtime_error(
        name + "=" + plain.substr(0, kShown) + " contradicts PET_" + name + "=" +
        pods.substr(0, kShown) +
        "\n  hint: one of the two variables is left over from another launcher; unset it");
  }
  return plain.empty() ? pods : plain;
}

std::optional<Endpoint> read_master(const rankenv::Environment& environment, bool by_pod) {
  const std::string address = master_value(environment, "MASTER_ADDR", by_pod);
  const std::string port_text = master_value(environment, "MASTER_PORT", by_pod);
  if (address.empty() || port_text.empty()) return std::nullopt;
  const std::optional<int> port = whole_number(port_text);
  if (!port || *port < 1 || *port > 65535) {
    throw std::runtime_error("MASTER_PORT='" + port_text.substr(0, kShown) +
                             "' is not a port\n  hint: set a number from 1 to 65535, the same for "
                             "all ranks");
  }
  return Endpoint{.address = address, .port = *port};
}

std::string ordinal(int number) {
  const bool teen = number / 10 % 10 == 1;
  const int last = teen ? 0 : number % 10;
  const char* ending = last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
  return std::to_string(number) + ending;
}

}  // namespace

Job join() {
  const rankenv::Environment environment = own_environment();
  const auto rank = rankenv::read(environment);
  if (!rank) throw std::runtime_error(to_text(rank.error()));
  const int attempt = whole_number(value_of(environment, "TORCHELASTIC_RESTART_COUNT")).value_or(0);
  recorder::serve_records();
  const bool by_pod = rank->told_by == "PET" || rank->told_by == "RANK";
  return Job{
      .rank = rank->rank,
      .size = rank->size,
      .local_rank = rank->local_rank,
      .local_size = rank->local_size,
      .host_rank = rank->host_rank,
      .host_count = rank->host_count,
      .master = read_master(environment, by_pod),
      .told_by = rank->told_by,
      .mpi_launcher = rankenv::is_mpi_job(*rank, environment),
      .agent_store =
          rank->under_agent && value_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True",
      .attempt = attempt,
  };
}

std::string Job::describe() const {
  if (told_by.empty()) return "a single process: no launcher has set a rank";
  std::string text = "rank " + std::to_string(rank) + " of " + std::to_string(size) + ", " +
                     ordinal(local_rank + 1) + " of " + std::to_string(local_size) +
                     " on this host";
  if (host_count) {
    text += ", " + std::to_string(*host_count) + (*host_count == 1 ? " host" : " hosts");
  }
  text += ", according to " + told_by;
  if (master) text += "; master " + endpoint_text(master->address, master->port);
  return text;
}

}  // namespace muster
