#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/size_text.hpp"
#include "bench/compare.hpp"
#include "bench/numbers.hpp"
#include "bench/table.hpp"
#include "report/wrap.hpp"

namespace muster::bench {
namespace {

std::string note(const std::string& text) {
  std::string all;
  for (const std::string& line : report::wrap(printable_lines(text), kTableWidth - 6)) {
    all += (all.empty() ? "# " : "#     ") + line + "\n";
  }
  return all;
}

// Lists the distinct values of the hosts, each with the number of hosts that have it.
template <class Value>
std::string of_hosts(const Results& results, Value value) {
  std::map<std::string, int> counts;
  for (const HostFacts& host : results.hosts) ++counts[value(host)];
  std::vector<std::string> texts;
  for (const auto& [text, count] : counts) {
    texts.push_back(counts.size() == 1
                        ? text
                        : fmt::format("{} ({} of {} hosts)", text, count, results.hosts.size()));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string host_names(const Results& results) {
  std::set<std::string> names;
  for (const HostFacts& host : results.hosts) names.insert(host.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string link_speeds(const Results& results) {
  return of_hosts(results, [](const HostFacts& host) {
    return host.speed_mbit > 0 ? speed(host.speed_mbit * 1e6 / 8) : std::string("not told");
  });
}

std::string rdma_of(const Results& results) {
  bool with = false, without = false;
  for (const Measurement& m : results.measurements) (m.rdma ? with : without) = true;
  return with && without ? "in some measurements" : with ? "yes" : "no";
}

std::string conditions(const Results& a, const Results& b) {
  std::string text;
  const auto say = [&text](const char* what, const std::string& one, const std::string& other) {
    if (one == other) return;
    const auto shown = [](const std::string& value) { return value.empty() ? "nothing" : value; };
    text += note(fmt::format("{}: A {}; B {}", what, shown(one), shown(other)));
  };
  say("hosts", host_names(a), host_names(b));
  say("ranks", std::to_string(a.ranks), std::to_string(b.ranks));
  say("engine", a.engine, b.engine);
  say("network", a.network, b.network);
  say("link speeds", link_speeds(a), link_speeds(b));
  const auto mtu = [](const HostFacts& host) { return std::to_string(host.mtu); };
  say("MTU", of_hosts(a, mtu), of_hosts(b, mtu));
  if (!a.measurements.empty() && !b.measurements.empty()) say("RDMA", rdma_of(a), rdma_of(b));
  const auto kernel = [](const HostFacts& host) { return host.kernel; };
  say("kernel", of_hosts(a, kernel), of_hosts(b, kernel));
  say("muster", a.muster, b.muster);
  say("command", a.command, b.command);
  if (text.empty()) return note("The conditions are the same.");
  return note("What differs in the conditions:") + text;
}

// The changes to describe together: those of one curve (smallest size first), of all pairs, or of
// all trainings of a model.
struct Curves {
  std::string name;
  Change::Kind kind = Change::Kind::kCollective;
  std::vector<const Change*> changes = {};
};

std::string curve_name(const Change& change) {
  if (change.kind == Change::Kind::kPair) return "pairs of hosts";
  if (change.kind == Change::Kind::kTraining) {
    return fmt::format("training of {} over {}", change.operation, change.backend);
  }
  return fmt::format("{} over {} by {} ranks", change.operation, change.backend, change.ranks);
}

std::vector<Curves> curves_of(const std::vector<Change>& changes) {
  std::vector<Curves> all;
  for (const Change& change : changes) {
    const std::string name = curve_name(change);
    auto found =
        std::find_if(all.begin(), all.end(), [&name](const Curves& c) { return c.name == name; });
    if (found == all.end())
      found = all.insert(all.end(), Curves{.name = name, .kind = change.kind});
    found->changes.push_back(&change);
  }
  for (Curves& curves : all) {
    std::stable_sort(curves.changes.begin(), curves.changes.end(),
                     [](const Change* x, const Change* y) {
                       return std::pair(x->bytes, x->hosts) < std::pair(y->bytes, y->hosts);
                     });
  }
  return all;
}

// Returns "by 1.9 to 2.1 times" or "by 4 to 8 %". Both ratios must be above 1.
std::string by_how_much(double least, double most) {
  const auto range = [](const std::string& low, const std::string& high) {
    return low == high ? low : low + " to " + high;
  };
  if (most >= 1.5) {
    return "by " + range(fmt::format("{:.1f}", least), fmt::format("{:.1f}", most)) + " times";
  }
  return "by " +
         range(fmt::format("{:.0f}", (least - 1) * 100), fmt::format("{:.0f}", (most - 1) * 100)) +
         " %";
}

// Names the sizes to which a statement applies. `marked` holds their indices in ascending order.
std::string where(const Curves& curves, const std::vector<std::size_t>& marked) {
  const std::size_t count = curves.changes.size(), first = marked.front(), last = marked.back();
  const bool sizes = curves.kind == Change::Kind::kCollective;
  if (marked.size() == count) {
    if (count == 1) return "";
    return sizes ? " at all sizes" : fmt::format(" (all {})", count);
  }
  if (curves.kind == Change::Kind::kTraining && marked.size() == 1) {
    return fmt::format(" on {} hosts", curves.changes[first]->hosts);
  }
  if (!sizes) {
    if (marked.size() == 1) return fmt::format(" ({})", curves.changes[first]->operation);
    return fmt::format(" ({} of {})", marked.size(), count);
  }
  const auto size_at = [&curves](std::size_t i) { return size_text(curves.changes[i]->bytes); };
  if (marked.size() == 1) return " at " + size_at(first);
  if (last - first + 1 != marked.size()) {
    return fmt::format(" at {} sizes between {} and {}", marked.size(), size_at(first),
                       size_at(last));
  }
  if (last + 1 == count) return fmt::format(" from {} up", size_at(first));
  if (first == 0) return fmt::format(" up to {}", size_at(last));
  return fmt::format(" from {} to {}", size_at(first), size_at(last));
}

// Returns one clause for each of `all` that became faster, or slower if `faster` is false.
std::vector<std::string> clauses(const std::vector<Curves>& all, bool faster) {
  std::vector<std::string> texts;
  for (const Curves& curves : all) {
    std::vector<std::size_t> marked;
    double least = 0, most = 0;
    for (std::size_t i = 0; i < curves.changes.size(); ++i) {
      const Change& change = *curves.changes[i];
      if (!change.differs || (change.ratio > 1) != faster) continue;
      const double times = faster ? change.ratio : 1 / change.ratio;
      least = marked.empty() ? times : std::min(least, times);
      most = std::max(most, times);
      marked.push_back(i);
    }
    if (marked.empty()) continue;
    texts.push_back(curves.name + where(curves, marked) + " " + by_how_much(least, most));
  }
  return texts;
}

std::string sentence(const std::vector<Change>& changes) {
  if (changes.empty())
    return "The two results have no measurement in common, so there is nothing to compare.";
  const std::vector<Curves> all = curves_of(changes);
  const std::vector<std::string> faster = clauses(all, true), slower = clauses(all, false);
  if (faster.empty() && slower.empty()) {
    return fmt::format("Nothing differs by more than the noise ({} compared).", changes.size());
  }
  std::string text;
  if (!faster.empty()) text = fmt::format("B is faster: {}", fmt::join(faster, "; "));
  if (!slower.empty()) {
    text += fmt::format("{}B is slower: {}", text.empty() ? "" : ". ", fmt::join(slower, "; "));
  }
  const auto same = std::count_if(changes.begin(), changes.end(),
                                  [](const Change& change) { return !change.differs; });
  const bool sizes = std::all_of(changes.begin(), changes.end(), [](const Change& change) {
    return change.kind == Change::Kind::kCollective;
  });
  if (same == 0) return text + ".";
  return text + fmt::format("; {} of {} {} not differ by more than the noise.", same,
                            changes.size(), sizes ? "sizes do" : "values do");
}

// Formats the time of a change: as Gbit/s for a pair, in ms for a training, otherwise in us.
std::string value_of(Change::Kind kind, double seconds) {
  if (kind == Change::Kind::kPair) return seconds > 0 ? gbit(1e9 / seconds) : "-";
  if (kind == Change::Kind::kTraining) return three_digits(seconds * 1e3);
  return microseconds(seconds);
}

std::string row(const Change& change) {
  const bool pair = change.kind == Change::Kind::kPair;
  const char* mark = !change.differs ? "" : change.ratio > 1 ? "faster" : "slower";
  const std::string first = pair                                     ? "-"
                            : change.kind == Change::Kind::kTraining ? std::to_string(change.hosts)
                                                                     : std::to_string(change.bytes);
  const double least = std::min(change.a, change.b);
  std::string line =
      fmt::format("{:>12} {:>13} {:>13} {:>9} {:>9} {:>7} {}", first,
                  value_of(change.kind, change.a), value_of(change.kind, change.b),
                  least > 0 ? fmt::format("{:.1f}", 100 * change.noise / least) : "-",
                  three_digits(change.ratio), mark, pair ? printable(change.operation) : "");
  if (line.size() > kTableWidth) line = line.substr(0, kTableWidth - 1) + "~";
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string table_of(const Curves& curves) {
  const bool pairs = curves.kind == Change::Kind::kPair;
  const bool trainings = curves.kind == Change::Kind::kTraining;
  // With more pairs than this, those that have not changed are left out.
  constexpr std::size_t kAllPairs = 40;
  const bool some = pairs && curves.changes.size() > kAllPairs;
  const char* of = pairs       ? "the slower of the two directions"
                   : trainings ? "median of a step"
                               : "medians";
  const char* unit = pairs ? "Gbit/s" : trainings ? "ms" : "us";
  std::string text =
      note(fmt::format("{}, {}{}", curves.name, of, some ? "; those that differ" : ""));
  text +=
      fmt::format("#{:>11} {:>13} {:>13} {:>9} {:>9}\n",
                  pairs       ? ""
                  : trainings ? "hosts"
                              : "size (B)",
                  fmt::format("A ({})", unit), fmt::format("B ({})", unit), "noise (%)", "times");
  for (const Change* change : curves.changes) {
    if (!some || change->differs) text += row(*change);
  }
  return text;
}

std::string tables(const std::vector<Change>& changes) {
  std::string text;
  for (const Curves& curves : curves_of(changes)) {
    text += (text.empty() ? "#\n" : "\n\n") + table_of(curves);
  }
  return text;
}

}  // namespace

std::string compare_text(const Results& a, const Results& b, const std::string& name_a,
                         const std::string& name_b) {
  std::string text = note(fmt::format("A: {}, {}", name_a, a.when));
  text += note(fmt::format("B: {}, {}", name_b, b.when));
  if (!a.cut_short.empty()) text += note("A was cut short: " + a.cut_short);
  if (!b.cut_short.empty()) text += note("B was cut short: " + b.cut_short);
  text += "#\n" + conditions(a, b) + "#\n";
  const std::vector<Change> changes = compare(a, b);
  text += note(sentence(changes));
  for (const std::string& only : only_in(a, b)) text += note("only in A: " + only);
  for (const std::string& only : only_in(b, a)) text += note("only in B: " + only);
  if (!changes.empty()) {
    text += note(
        fmt::format("times: how many times as fast B is. noise: the larger interquartile range of "
                    "both, but at least {} of the faster result (pairs {}, trainings {})",
                    percent(kLeastChange), percent(kPairNoise), percent(kTrainingNoise)));
  }
  return text + tables(changes);
}

}  // namespace muster::bench
