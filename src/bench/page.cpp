#include "bench/page.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/size_text.hpp"
#include "bench/needed_link.hpp"
#include "bench/numbers.hpp"
#include "bench/page_table.hpp"
#include "bench/picture.hpp"
#include "bench/series.hpp"
#include "report/chart.hpp"
#include "report/markup.hpp"

namespace muster::bench {
namespace {

using report::escaped;

constexpr const char* kPageStyle = R"(
:root{color-scheme:light dark;--bg:#f4f5f7;--card:#fff;--fg:#1b1f24;--muted:#57606a;--edge:#d9dee3;
--pass:#1a7f37;--fail:#c1121f;--unknown:#7a5c00;--pass-bg:#e9f7ed;--fail-bg:#fdecec;--unknown-bg:#fdf6df}
@media (prefers-color-scheme:dark){:root{--bg:#0f1318;--card:#181d24;--fg:#e6eaef;--muted:#9aa4af;
--edge:#2f3742;--pass:#4ac26b;--fail:#ff6b6b;--unknown:#e3b341;--pass-bg:#12261a;--fail-bg:#2d1618;
--unknown-bg:#2a2310}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);line-height:1.55;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif}
main,header,footer{max-width:1180px;margin:0 auto;padding:0 24px}
header{padding-top:40px}
h1{font-size:2rem;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:1.35rem;margin:48px 0 16px}
h3{font-size:1.05rem;margin:28px 0 12px}
p{margin:8px 0;max-width:78ch}
.sub{color:var(--muted);margin:0 0 24px}
.box{border:1px solid var(--edge);border-left:7px solid var(--tone);background:var(--tint);border-radius:8px;
padding:14px 20px;margin:12px 0;overflow-wrap:anywhere}
.pass{--tone:var(--pass);--tint:var(--pass-bg)}
.fail{--tone:var(--fail);--tint:var(--fail-bg)}
.unknown{--tone:var(--unknown);--tint:var(--unknown-bg)}
.box p{margin:4px 0}
.word{display:inline-block;color:var(--tone);border:2px solid currentColor;border-radius:5px;
padding:0 9px;margin-right:12px;font-weight:700;letter-spacing:.06em;font-size:.9rem}
.nums{font-variant-numeric:tabular-nums;color:var(--muted)}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px 24px;margin:24px 0 16px}
dt{color:var(--muted);font-size:.82rem}
dd{margin:0;font-weight:600;overflow-wrap:anywhere}
pre{background:var(--card);border:1px solid var(--edge);border-radius:8px;padding:12px 16px;margin:8px 0;
white-space:pre-wrap;overflow-wrap:anywhere;font-size:.88rem;
font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,500px),1fr));gap:20px}
figure{margin:0 0 20px;background:var(--card);border:1px solid var(--edge);border-radius:8px;padding:18px 20px 14px;
min-width:0}
figcaption{color:var(--muted);font-size:.88rem;margin-top:10px}
figure .scroll{border:0;margin:0}
figure svg{min-width:430px;margin:0 auto}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--edge);border-radius:8px;margin:0 0 20px}
table{border-collapse:collapse;width:100%;font-size:.86rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:12px 16px}
th,td{text-align:right;padding:5px 10px;white-space:nowrap;border-top:1px solid var(--edge)}
th{color:var(--muted);font-weight:600;vertical-align:bottom}
th small{display:block;font-weight:400}
.w{text-align:left}
.long{white-space:normal;min-width:10em}
tbody tr:nth-child(even){background:color-mix(in srgb,var(--fg) 3%,transparent)}
li{margin:6px 0;overflow-wrap:anywhere}
footer{color:var(--muted);font-size:.9rem;padding-bottom:56px}
footer h2{color:var(--fg)}
@media (max-width:600px){main,header,footer{padding:0 14px}header{padding-top:24px}h1{font-size:1.5rem}
figure{padding:12px}}
@media print{:root{--bg:#fff}body{font-size:10.5pt}figure,.box,tr{break-inside:avoid}h2,h3{break-after:avoid}
.scroll{overflow:visible}table{font-size:7.5pt}th,td{padding:2px 5px}figure svg{min-width:0}}
)";

std::string figure(const std::string& svg, const std::string& caption) {
  if (svg.empty()) return "";
  return fmt::format(
      "<figure><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"picture\">{}</div>\n"
      "<figcaption>{}</figcaption></figure>\n",
      svg, escaped(caption));
}

std::string paragraph(const std::string& text) {
  return "<p>" + escaped(text) + "</p>\n";
}

std::string verdict_box(const Judgement& verdict) {
  const char* look = "unknown";
  const char* word = "UNKNOWN";
  if (verdict.outcome == Judgement::Outcome::kPass) look = "pass", word = "PASS";
  if (verdict.outcome == Judgement::Outcome::kFail) look = "fail", word = "FAIL";
  std::vector<std::string> numbers;
  if (verdict.expected > 0)
    numbers.push_back(fmt::format("expected {} Gbit/s", gbit(verdict.expected)));
  if (verdict.measured > 0)
    numbers.push_back(fmt::format("measured {} Gbit/s", gbit(verdict.measured)));
  if (verdict.expected > 0 && verdict.measured > 0) {
    numbers.push_back(percent(verdict.measured / verdict.expected) + " of the expected speed");
  }
  std::string html = fmt::format(
      "<div class=\"box {}\"><p><span class=\"word\">{}</span><strong>{}</strong></p>\n", look,
      word, escaped(verdict.about));
  if (!numbers.empty()) html += fmt::format("<p class=\"nums\">{}</p>\n", fmt::join(numbers, ", "));
  if (!verdict.text.empty()) html += paragraph(verdict.text);
  return html + "</div>\n";
}

std::string verdicts_html(const Results& results) {
  std::string html;
  if (!results.cut_short.empty()) {
    html +=
        "<div class=\"box unknown\"><p><span class=\"word\">CUT SHORT</span><strong>Not all was "
        "measured</strong></p>\n" +
        paragraph(results.cut_short) + "</div>\n";
  }
  for (const Judgement& verdict : results.verdicts) html += verdict_box(verdict);
  return html.empty() ? "" : "<h2>Verdict</h2>\n" + html;
}

std::string conditions_html(const Results& results) {
  std::string html = "<h2>What ran</h2>\n<dl>\n";
  const auto fact = [&html](const char* name, const std::string& value) {
    if (value.empty()) return;
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, escaped(value));
  };
  fact("When (UTC)", results.when);
  fact("Engine", results.engine);
  fact("Network", results.network);
  fact("Ranks", fmt::format("{} on {} hosts", results.ranks, results.hosts.size()));
  fact("muster", results.muster);
  return html + "</dl>\n<pre>" + escaped(results.command) + "</pre>\n";
}

std::string group_html(const Results& results, const std::vector<Series>& group, bool one_of_many) {
  const Judgement* verdict = expectation(results, group[0].operation);
  // The expectation holds for all ranks together, so it is drawn only where all took part.
  const bool whole = group[0].ranks == results.ranks;
  const std::string bandwidth =
      bandwidth_svg(group, verdict != nullptr && whole ? verdict->expected : 0);
  const std::string by = fmt::format("{} with {} ranks. ", group[0].operation, group[0].ranks);
  std::string html;
  if (one_of_many) html += fmt::format("<h3>By {} ranks</h3>\n", group[0].ranks);
  if (bandwidth.empty()) {
    for (const Series& series : group) {
      const Times& times = series.points.back()->times;
      html += paragraph(fmt::format("{}: median {}, p99 {}", label(series, group),
                                    duration(times.median, kMicro), duration(times.p99, kMicro)));
    }
    return html;
  }
  html += "<div class=\"pair\">\n";
  html += figure(bandwidth, by + "Bus bandwidth from the mean time; the band is the middle half of "
                                 "the iterations. Higher is better.");
  html += figure(latency_svg(group), by + "Both axes logarithmic. Lower is better.");
  return html + "</div>\n";
}

std::string best_table(const std::vector<Series>& all) {
  PageTable table{.caption = "Best of each backend",
                  .columns = {{"operation", "", false},
                              {"backend", "", false},
                              {"ranks"},
                              {"best busbw", "Gbit/s"},
                              {"at size"},
                              {"shortest median", kMicro}}};
  for (const Series& series : all) {
    const Measurement* best = best_of(series);
    double shortest = series.points[0]->times.median;
    for (const Measurement* m : series.points) shortest = std::min(shortest, m->times.median);
    table.rows.push_back({series.operation, series.backend + (series.rdma ? ", RDMA" : ""),
                          std::to_string(series.ranks), best ? gbit(best->busbw) : "-",
                          best ? size_text(best->bytes) : "-", microseconds(shortest)});
  }
  return table_html(table);
}

std::string costs_html(const Results& results) {
  std::string html;
  for (const Cost& cost : costs_of(results)) {
    std::string text = fmt::format(
        "{} with {} ranks: the backend mpi takes {} {} than MPI itself", cost.operation, cost.ranks,
        duration(std::abs(cost.added_s), kMicro), cost.added_s < 0 ? "less" : "more");
    if (cost.largest > cost.smallest) {
      text += fmt::format(" at {}, and {} {} at {}", size_text(cost.smallest),
                          percent(std::abs(cost.added_share)),
                          cost.added_share < 0 ? "less" : "more", size_text(cost.largest));
    }
    html += paragraph(text + " (medians).");
  }
  return html;
}

std::string collectives_html(const Results& results) {
  const std::vector<Series> all = series_of(results);
  const auto groups = groups_of(all);
  std::string html, last;
  for (const auto& group : groups) {
    const std::string& operation = group[0].operation;
    if (operation != last) html += "<h2>" + escaped(operation) + "</h2>\n";
    last = operation;
    const auto same = std::count_if(groups.begin(), groups.end(), [&operation](const auto& other) {
      return other[0].operation == operation;
    });
    html += group_html(results, group, same > 1);
  }
  if (!all.empty()) html += "<h2>Backends</h2>\n" + best_table(all) + costs_html(results);
  if (!results.skipped.empty()) html += "<h2>Not measured</h2>\n<ul>\n";
  for (const Skipped& skipped : results.skipped) {
    html += fmt::format("<li>{} over {}: {}</li>\n", escaped(skipped.operation),
                        escaped(skipped.backend), escaped(skipped.why));
  }
  return html + (results.skipped.empty() ? "" : "</ul>\n");
}

std::string suspects_html(const Results& results) {
  std::string html;
  for (const Suspect& suspect : results.suspects) {
    html += fmt::format(
        "<div class=\"box {}\"><p><span class=\"word\">{}</span><strong>{} {}</strong>"
        "</p>\n{}</div>\n",
        suspect.confirmed ? "fail" : "unknown", suspect.confirmed ? "CONFIRMED" : "SUSPECT",
        suspect.hosts.size() == 2 ? "link" : "host",
        escaped(fmt::format("{}", fmt::join(suspect.hosts, " - "))), paragraph(suspect.what));
  }
  if (html.empty() && results.pairs.empty()) return "";
  return "<h2>Suspects</h2>\n" +
         (html.empty() ? paragraph("No host and no link stands out.") : html);
}

std::string pairs_html(const Results& results) {
  if (results.pairs.empty()) return "";
  const PairMatrix matrix = matrix_of(results);
  return "<h2>Pairs of hosts</h2>\n" +
         paragraph(fmt::format(
             "Pairs: {}. The median of the slower directions is {}, of the latency "
             "{} (half a round trip of 8 bytes).",
             matrix.speeds.size() / 2, speed(matrix.median), duration(matrix.latency_s, kMicro))) +
         figure(heat_map_svg(results),
                "Bandwidth from the host of the row to the host of the column, on a scale from 0. "
                "Suspects are outlined; a dashed outline means not confirmed.");
}

std::string trainings_html(const Results& results) {
  if (results.trainings.empty()) return "";
  const std::vector<Scaled> all = scaled(results);
  PageTable table{.caption = "Speed by number of hosts",
                  .columns = {{"model", "", false},
                              {"backend", "", false},
                              {"hosts"},
                              {"ranks"},
                              {"steps/s"},
                              {"samples/s"},
                              {"step", "ms"},
                              {"waiting", "of a step"},
                              {"efficiency", "by host"}}};
  std::vector<std::string> models;
  for (const Scaled& one : all) {
    const Training& t = *one.training;
    table.rows.push_back({t.model, t.backend, std::to_string(t.hosts), std::to_string(t.ranks),
                          three_digits(one.steps_a_second), three_digits(one.samples_a_second),
                          three_digits(t.step_s * 1e3), fmt::format("{:.1f} %", one.waiting * 100),
                          fmt::format("{:.1f} %", one.efficiency * 100)});
    if (std::find(models.begin(), models.end(), t.model) == models.end()) models.push_back(t.model);
  }
  std::string html = "<h2>Trainings</h2>\n" + table_html(table) + "<div class=\"pair\">\n";
  for (const std::string& model : models) {
    html += figure(scaling_svg(model, all), model +
                                                ": samples per second. Dashed: the same samples "
                                                "per second and host as on the fewest hosts.");
  }
  html += "</div>\n<h3>Which link hides the communication</h3>\n";
  for (const std::string& sentence : needed_links(results)) html += paragraph(sentence + ".");
  return html;
}

std::string numbers_html(const Results& results) {
  const std::vector<Series> all = series_of(results);
  std::string html;
  for (const Series& series : all) {
    PageTable table{
        .caption = fmt::format("{} over {}, {} ranks{}", series.operation, series.backend,
                               series.ranks, series.rdma ? ", RDMA" : ""),
        .columns = {{"size", "B"},
                    {"iterations"},
                    {"mean", kMicro},
                    {"algbw", "Gbit/s"},
                    {"busbw", "Gbit/s"},
                    {"min", kMicro},
                    {"p25", kMicro},
                    {"median", kMicro},
                    {"p75", kMicro},
                    {"p95", kMicro},
                    {"p99", kMicro},
                    {"wrong"}}};
    for (const Measurement* m : series.points) {
      const Times& t = m->times;
      table.rows.push_back({std::to_string(m->bytes), std::to_string(m->iterations),
                            microseconds(m->mean_s), m->bytes > 0 ? gbit(m->algbw) : "-",
                            m->bytes > 0 ? gbit(m->busbw) : "-", microseconds(t.min),
                            microseconds(t.p25), microseconds(t.median), microseconds(t.p75),
                            microseconds(t.p95), microseconds(t.p99), std::to_string(m->wrong)});
    }
    html += table_html(table);
  }
  // With more pairs than this, the page shows only the picture and the suspects.
  constexpr std::size_t kPairRows = 600;
  if (!results.pairs.empty() && results.pairs.size() <= kPairRows) {
    PageTable table{.caption = "Pairs of hosts",
                    .columns = {{"one", "", false},
                                {"other", "", false},
                                {"there", "Gbit/s"},
                                {"back", "Gbit/s"},
                                {"latency", kMicro},
                                {"round", "", false}}};
    for (const Pair& pair : results.pairs) {
      table.rows.push_back({pair.one, pair.other, gbit(pair.forward), gbit(pair.backward),
                            microseconds(pair.latency_s),
                            pair.again ? "measured again, to confirm" : "first"});
    }
    html += table_html(table);
  } else if (!results.pairs.empty()) {
    html +=
        paragraph(fmt::format("The {} pairs are in the JSON of this bench.", results.pairs.size()));
  }
  return html.empty() ? "" : "<h2>All numbers</h2>\n" + html;
}

std::string traffic_html(const Results& results) {
  if (results.traffic.empty()) return "";
  PageTable table{.caption = "What the network devices counted while the largest size was measured",
                  .columns = {{"host", "", false},
                              {"operation", "", false},
                              {"backend", "", false},
                              {"device", "", false},
                              {"sent", "MB"},
                              {"received", "MB"}}};
  for (const Traffic& traffic : results.traffic) {
    for (const Traffic::Device& device : traffic.devices) {
      table.rows.push_back({traffic.host, traffic.operation, traffic.backend,
                            device.name + (device.rdma ? " (RDMA)" : ""),
                            fmt::format("{:.1f}", static_cast<double>(device.sent) / 1e6),
                            fmt::format("{:.1f}", static_cast<double>(device.received) / 1e6)});
    }
  }
  return "<h2>Traffic</h2>\n" + table_html(table);
}

std::string hosts_html(const Results& results) {
  if (results.hosts.empty()) return "";
  const bool has_rdma = std::any_of(results.hosts.begin(), results.hosts.end(),
                                    [](const HostFacts& host) { return !host.rdma.empty(); });
  PageTable table{.caption = "Hosts, as they describe themselves",
                  .columns = {{"host", "", false},
                              {"ranks"},
                              {"interface", "", false},
                              {"address", "", false},
                              {"link"},
                              {"MTU"},
                              {"RDMA", "", false, has_rdma},
                              {"cores"},
                              {"memory", "GiB"},
                              {"processor", "", false, true},
                              {"kernel", "", false},
                              {"system", "", false, true}}};
  for (const HostFacts& host : results.hosts) {
    table.rows.push_back({host.name, std::to_string(host.ranks), host.interface, host.address,
                          host.speed_mbit > 0 ? speed(host.speed_mbit * 1e6 / 8) : "-",
                          std::to_string(host.mtu), host.rdma.empty() ? "-" : host.rdma,
                          std::to_string(host.cores),
                          three_digits(static_cast<double>(host.memory_bytes) / (1 << 30)),
                          host.cpu, host.kernel, host.os});
  }
  return "<h2>Hosts</h2>\n" + table_html(table);
}

constexpr const char* kNotes = R"(<footer>
<h2>How to read the numbers</h2>
<p><strong>algbw</strong> is the size divided by the mean time: how fast the caller sees its data done. It
falls as ranks are added, although the network does no worse.</p>
<p><strong>busbw</strong> is algbw times the share of the data that each rank must send over its link at
the least, so that it can be held against the speed of a link whatever the number of ranks n: times
2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, 1 for broadcast and reduce.
Ranks of one host reach each other without the network, so busbw may exceed what a link carries.</p>
<p>An iteration takes as long as its slowest rank. Percentiles are those of single iterations; the mean is
that of iterations one behind the other, which may overlap. 1 Gbit/s is 125,000,000 bytes a second.</p>
</footer>
)";

}  // namespace

std::string page_html(const Results& results) {
  const std::string title = "muster bench: " + results.kind;
  // The content security policy keeps the browser from loading or running anything, even if a text
  // were not escaped.
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}, {}</title>\n<style>{}{}</style>\n</head>\n<body>\n",
      escaped(title), escaped(results.when), kPageStyle, report::picture_style());
  html +=
      fmt::format("<header><h1>{}</h1>\n<p class=\"sub\">{}, {} ranks on {} hosts</p></header>\n",
                  escaped(title), escaped(results.when), results.ranks, results.hosts.size());
  html += "<main>\n" + verdicts_html(results) + conditions_html(results);
  html += suspects_html(results) + pairs_html(results) + collectives_html(results);
  html += trainings_html(results) + numbers_html(results) + traffic_html(results);
  return html + hosts_html(results) + "</main>\n" + kNotes + "</body>\n</html>\n";
}

}  // namespace muster::bench
