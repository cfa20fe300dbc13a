#include "bench/table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/size_text.hpp"
#include "bench/needed_link.hpp"
#include "bench/numbers.hpp"
#include "bench/series.hpp"
#include "report/wrap.hpp"

namespace muster::bench {
namespace {

constexpr int kMatrixHosts = 16;  // more do not fit in the width
constexpr std::size_t kSlowestPairs = 10;

// Wraps `text` and puts "# " before each line. All lines but the first are indented by `blanks`.
std::string remark(std::string_view text, std::size_t blanks = 0) {
  std::string all;
  for (const std::string& line : report::wrap(printable_lines(text), kTableWidth - 2 - blanks)) {
    all += "# " + std::string(all.empty() ? 0 : blanks, ' ') + line + "\n";
  }
  return all;
}

// Makes the text printable and shortens it to the width of its column.
std::string cut_to(std::size_t width, const std::string& text) {
  const std::string clean = printable(text);
  return clean.size() <= width ? clean : clean.substr(0, width - 1) + "~";
}

// Makes `line` a header of a table: replaces its first blank with '#' and removes blanks at its
// end.
std::string header_row(std::string line) {
  line[0] = '#';
  return line.substr(0, line.find_last_not_of(" \n") + 1) + "\n";
}

std::string head(const Results& results) {
  std::string text =
      remark(fmt::format("muster {}, bench {}, {}", results.muster, results.kind, results.when));
  text += remark(fmt::format("{} ranks on {} hosts{}{}{}{}", results.ranks, results.hosts.size(),
                             results.engine.empty() ? "" : ", ", results.engine,
                             results.network.empty() ? "" : ", network ", results.network));
  text += remark(results.command);
  if (!results.cut_short.empty()) {
    text += remark("CUT SHORT, not everything was measured: " + results.cut_short, 4);
  }
  return text;
}

constexpr const char* kRow = "{:>12} {:>12} {:>11} {:>9} {:>9} {:>10} {:>10} {:>10} {:>10} {:>6}\n";

std::string series_table(const Series& series) {
  std::string text = remark(fmt::format("{} over {}, {} ranks{}", series.operation, series.backend,
                                        series.ranks, series.rdma ? ", RDMA" : ""));
  const auto header = [&text](auto... words) {
    text += header_row(fmt::format(fmt::runtime(kRow), words...));
  };
  header("size", "count", "time", "algbw", "busbw", "min", "median", "p95", "p99", "#wrong");
  header("(B)", "(float)", "(us, mean)", "(Gbit/s)", "(Gbit/s)", "(us)", "(us)", "(us)", "(us)",
         "");
  for (const Measurement* m : series.points) {
    text += fmt::format(fmt::runtime(kRow), m->bytes, m->bytes / 4, microseconds(m->mean_s),
                        m->bytes > 0 ? gbit(m->algbw) : "-", m->bytes > 0 ? gbit(m->busbw) : "-",
                        microseconds(m->times.min), microseconds(m->times.median),
                        microseconds(m->times.p95), microseconds(m->times.p99), m->wrong);
  }
  return text;
}

std::string best_line(const std::vector<Series>& group) {
  std::vector<std::string> bests;
  for (const Series& series : group) {
    const Measurement* best = best_of(series);
    if (best != nullptr) bests.push_back(label(series, group) + " " + gbit(best->busbw));
  }
  if (bests.empty()) return "";
  return remark(fmt::format("{} with {} ranks, best busbw in Gbit/s: {}", group[0].operation,
                            group[0].ranks, fmt::join(bests, "; ")),
                4);
}

std::string cost_line(const Cost& cost) {
  std::string line = fmt::format("{} with {} ranks: mpi takes {} us {} than MPI itself",
                                 cost.operation, cost.ranks, microseconds(std::abs(cost.added_s)),
                                 cost.added_s < 0 ? "less" : "more");
  if (cost.largest > cost.smallest) {
    line += fmt::format(" at {}, {} {} at {}", size_text(cost.smallest),
                        percent(std::abs(cost.added_share)), cost.added_share < 0 ? "less" : "more",
                        size_text(cost.largest));
  }
  return remark(line + " (medians)", 4);
}

std::string collectives(const Results& results) {
  const std::vector<Series> all = series_of(results);
  std::string text;
  for (const Series& series : all) text += (text.empty() ? "#\n" : "\n\n") + series_table(series);
  if (!all.empty()) text += "#\n";
  for (const auto& group : groups_of(all)) text += best_line(group);
  for (const Cost& cost : costs_of(results)) text += cost_line(cost);
  std::int64_t wrong = 0;
  for (const Measurement& m : results.measurements) wrong += m.wrong;
  if (wrong > 0) {
    text +=
        remark(fmt::format("WRONG RESULTS: {} elements had wrong values; do not train on these "
                           "hosts until you know why",
                           wrong));
  }
  for (const Skipped& skipped : results.skipped) {
    text += remark(fmt::format("not measured: {} over {}: {}", skipped.operation, skipped.backend,
                               skipped.why),
                   4);
  }
  return text;
}

struct PairUnit {
  double bytes_a_second;
  const char* name;
};

PairUnit unit_for(double typical) {
  return typical * 8 >= 0.9995e9 ? PairUnit{1e9 / 8, "Gbit/s"} : PairUnit{1e6 / 8, "Mbit/s"};
}

std::string matrix_text(const PairMatrix& matrix, PairUnit unit) {
  const int count = static_cast<int>(matrix.hosts.size());
  std::vector<std::string> names;
  std::size_t longest = 4;
  for (const std::string& host : matrix.hosts) {
    names.push_back(printable(host));
    longest = std::max(longest, host.size());
  }
  const std::size_t each = std::min<std::size_t>(12, (kTableWidth - 14) / matrix.hosts.size());
  std::string text;
  if (longest + 2 > each || longest > 14) {
    for (int i = 0; i < count; ++i) {
      text += remark(fmt::format("{} is {}", i + 1, names[i]));
      names[i] = std::to_string(i + 1);
    }
    longest = 4;
  }
  std::string line = "#" + std::string(longest - 1, ' ');
  for (const std::string& name : names) line += fmt::format("{:>{}} ", name, each - 1);
  const auto end_line = [&] { text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n"; };
  end_line();
  for (int from = 0; from < count; ++from) {
    line = fmt::format("{:<{}}", names[from], longest);
    for (int to = 0; to < count; ++to) {
      const auto value = from == to ? std::nullopt : matrix.slower(from, to);
      line += fmt::format("{:>{}}{}", value ? short_number(*value / unit.bytes_a_second) : "-",
                          each - 1, value && matrix.slow(*value) ? '*' : ' ');
    }
    end_line();
  }
  return text;
}

std::string slowest_text(const PairMatrix& matrix, PairUnit unit) {
  struct Link {
    double speed;
    int one, other;
  };
  std::vector<Link> links;
  std::vector<double> speeds;
  const int count = static_cast<int>(matrix.hosts.size());
  for (const auto& [place, there] : matrix.speeds) {
    const auto [one, other] = place;
    if (one > other) continue;  // the other direction of the same pair
    const double value = matrix.slower(one, other).value_or(there);
    links.push_back({value, one, other});
    speeds.push_back(value / unit.bytes_a_second);
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const Link& a, const Link& b) { return a.speed < b.speed; });
  std::string text =
      remark(fmt::format("{} pairs of {} hosts, {}: min {}, p25 {}, median {}, p75 {}, max {}",
                         links.size(), count, unit.name, short_number(quantile(speeds, 0)),
                         short_number(quantile(speeds, 0.25)), short_number(quantile(speeds, 0.5)),
                         short_number(quantile(speeds, 0.75)), short_number(quantile(speeds, 1))));
  text += remark("the slowest:");
  links.resize(std::min(links.size(), kSlowestPairs));
  for (const Link& link : links) {
    text += fmt::format("{:>8}{} {} {}\n", short_number(link.speed / unit.bytes_a_second),
                        matrix.slow(link.speed) ? '*' : ' ', printable(matrix.hosts[link.one]),
                        printable(matrix.hosts[link.other]));
  }
  return text;
}

std::string pairs_text(const Results& results) {
  const PairMatrix matrix = matrix_of(results);
  const PairUnit unit = unit_for(matrix.median);
  std::string text = "#\n" + remark(fmt::format("pairs of hosts, the slower of the two directions, "
                                                "{}; * marks less than {} of the median",
                                                unit.name, percent(kMarkedShare)));
  text +=
      matrix.hosts.size() <= kMatrixHosts ? matrix_text(matrix, unit) : slowest_text(matrix, unit);
  text += "#\n" + remark(fmt::format("median {}, latency {} (half a round trip, median)",
                                     speed(matrix.median), duration(matrix.latency_s)));
  return text;
}

std::string suspects_text(const Results& results) {
  std::string text;
  for (const Suspect& suspect : results.suspects) {
    text += remark(fmt::format("SUSPECT {} {}{}: {}", suspect.hosts.size() == 2 ? "link" : "host",
                               fmt::join(suspect.hosts, " - "),
                               suspect.confirmed ? "" : " (not confirmed)", suspect.what),
                   4);
  }
  if (text.empty() && !results.pairs.empty()) {
    text =
        remark(results.cut_short.empty() ? "no host and no link stands out"
                                         : "no host and no link stands out in what was measured");
  }
  return text;
}

constexpr const char* kTrainingRow = "{:>14} {:>8} {:>6} {:>6} {:>9} {:>11} {:>10} {:>10} {:>13}\n";

std::string trainings_text(const Results& results) {
  std::string text =
      "#\n" + remark(
                  "trainings. waiting: share of a step spent waiting for communication. "
                  "efficiency: samples per second and host, relative to the fewest hosts");
  text += header_row(fmt::format(fmt::runtime(kTrainingRow), "model", "backend", "hosts", "ranks",
                                 "steps/s", "samples/s", "ms/step", "waiting(%)", "efficiency(%)"));
  for (const Scaled& one : scaled(results)) {
    const Training& t = *one.training;
    text +=
        fmt::format(fmt::runtime(kTrainingRow), cut_to(14, t.model), cut_to(8, t.backend), t.hosts,
                    t.ranks, three_digits(one.steps_a_second), three_digits(one.samples_a_second),
                    three_digits(t.step_s * 1e3), fmt::format("{:.1f}", one.waiting * 100),
                    fmt::format("{:.1f}", one.efficiency * 100));
  }
  text += "#\n";
  for (const std::string& sentence : needed_links(results)) text += remark(sentence, 4);
  return text;
}

std::string verdicts_text(const Results& results) {
  std::string text;
  for (const Judgement& verdict : results.verdicts) {
    const char* word = verdict.outcome == Judgement::Outcome::kPass   ? "PASS"
                       : verdict.outcome == Judgement::Outcome::kFail ? "*** FAIL"
                                                                      : "UNKNOWN";
    std::string line = verdict.about;
    if (verdict.expected > 0) line += fmt::format(", expected {} Gbit/s", gbit(verdict.expected));
    if (verdict.measured > 0) line += fmt::format(", measured {} Gbit/s", gbit(verdict.measured));
    text += "#\n" + remark(fmt::format("{}: {}", word, line), 4);
    for (const std::string& reason : report::wrap(printable_lines(verdict.text), kTableWidth - 6)) {
      text += "#     " + reason + "\n";
    }
  }
  return text;
}

struct Fastest {
  const Measurement* with = nullptr;     // with RDMA
  const Measurement* without = nullptr;  // without RDMA
};

bool better(const Measurement& one, const Measurement* other) {
  if (other == nullptr) return true;
  // Trainings do not use plain MPI, so its result counts only if no other backend has one.
  const bool bare = one.backend == "bare", other_bare = other->backend == "bare";
  if (bare != other_bare) return other_bare;
  return std::pair(one.bytes, one.busbw) > std::pair(other->bytes, other->busbw);
}

}  // namespace

std::string table_text(const Results& results) {
  std::string text = head(results);
  if (!results.measurements.empty() || !results.skipped.empty()) text += collectives(results);
  if (!results.pairs.empty()) text += pairs_text(results);
  text += suspects_text(results);
  if (!results.trainings.empty()) text += trainings_text(results);
  return text + verdict_text(results);
}

std::string verdict_text(const Results& results) {
  std::string text = verdicts_text(results);
  if (!results.cut_short.empty()) text += "#\n" + remark("CUT SHORT: " + results.cut_short, 4);
  return text;
}

std::string rank_count_table(const Results& results) {
  std::map<int, Fastest> rows;
  for (const Measurement& m : results.measurements) {
    if (m.operation != "all-reduce") continue;
    Fastest& row = rows[m.ranks];
    const Measurement*& place = m.rdma ? row.with : row.without;
    if (better(m, place)) place = &m;
  }
  constexpr const char* kColumns = "| {:>5} | {:>10} | {:>10} | {:>13} | {:>13} |\n";
  std::string text = "All-reduce of the largest size, Gbit/s\n\n";
  text += fmt::format(fmt::runtime(kColumns), "ranks", "RDMA busbw", "RDMA algbw", "NO RDMA busbw",
                      "NO RDMA algbw");
  text += "|------:|-----------:|-----------:|--------------:|--------------:|\n";
  for (const auto& [ranks, row] : rows) {
    const auto busbw = [](const Measurement* m) { return m ? gbit(m->busbw) : "-"; };
    const auto algbw = [](const Measurement* m) { return m ? gbit(m->algbw) : "-"; };
    text += fmt::format(fmt::runtime(kColumns), ranks, busbw(row.with), algbw(row.with),
                        busbw(row.without), algbw(row.without));
  }
  return text;
}

}  // namespace muster::bench
