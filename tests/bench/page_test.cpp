#include "bench/page.hpp"

#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "bench/picture.hpp"

namespace muster::bench {
namespace {

constexpr const char* kHostile = "<script>alert(\"1\")</script>&'";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Results in which every text is hostile.
Results all_hostile() {
  const std::string evil = kHostile;
  Results results{.kind = evil, .muster = evil, .when = evil, .command = evil, .engine = evil};
  results.network = evil;
  results.hosts = {{evil, evil, evil, evil, 1, 1, 1, evil, evil, 1500, 10, evil}};
  for (const std::int64_t bytes : {8, 1024, 65536}) {
    results.measurements.push_back({.operation = evil,
                                    .backend = evil,
                                    .ranks = 2,
                                    .bytes = bytes,
                                    .mean_s = 1e-5,
                                    .times = {1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5},
                                    .algbw = 1e9,
                                    .busbw = 1e9});
  }
  results.skipped = {{evil, evil, evil}};
  results.traffic = {{evil, evil, evil, {{evil, true, 1, 1}}}};
  results.pairs = {{evil, evil + "2", 1e9, 1e9, 1e-5, false}};
  results.suspects = {{{evil}, evil}, {{evil, evil + "2"}, evil}};
  results.trainings = {{evil, evil, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
  results.verdicts = {{Judgement::Outcome::kFail, evil, 1e9, 1e8, evil}};
  results.cut_short = evil;
  return results;
}

TEST(Page, HostileTextIsShownAndDoesNothing) {
  const std::string html = page_html(all_hostile());
  EXPECT_FALSE(contains(html, "<script"));
  EXPECT_FALSE(contains(html, "alert(\""));
  EXPECT_GT(count_of(html, "&lt;script&gt;alert(&quot;1&quot;)"), 30U);
}

TEST(Page, NeedsNothingElse) {
  const std::string html = page_html(all_hostile());
  for (const char* part : {"http:", "https:", "src=", "href=", "@import", "<link", "<iframe",
                           "<object", "<img", "javascript:", " onload"}) {
    EXPECT_FALSE(contains(html, part)) << part;
  }
  // url() refers only to parts of the page itself.
  EXPECT_EQ(count_of(html, "url("), count_of(html, "url(#"));
}

TEST(Page, SaysWhatRanAndWhatCameOfIt) {
  Results results = all_hostile();
  results.command = "muster bench all-reduce -H n[1-4]";
  results.verdicts = {{Judgement::Outcome::kPass, "one", 1e9, 1e9, "fine"},
                      {Judgement::Outcome::kFail, "two", 1.25e9, 1.25e8, "look at the cable"},
                      {Judgement::Outcome::kUnknown, "three", 0, 0, "nobody knows"}};
  results.cut_short = "interrupted";
  const std::string html = page_html(results);
  EXPECT_TRUE(contains(html, "<pre>muster bench all-reduce -H n[1-4]</pre>"));
  for (const char* word : {">PASS<", ">FAIL<", ">UNKNOWN<", ">CUT SHORT<", "look at the cable",
                           "expected 10.0 Gbit/s, measured 1.00 Gbit/s, 10 % of the expected"}) {
    EXPECT_TRUE(contains(html, word)) << word;
  }
  EXPECT_LT(html.find(">FAIL<"), html.find("<svg"));
}

TEST(Page, HeadingsAreInOrderAndPicturesHaveNames) {
  const std::string html = page_html(all_hostile());
  int level = 0;
  const std::regex heading("<h([1-6])>");
  for (auto it = std::sregex_iterator(html.begin(), html.end(), heading);
       it != std::sregex_iterator(); ++it) {
    const int next = std::stoi((*it)[1]);
    EXPECT_LE(next, level + 1);
    level = next;
  }
  EXPECT_EQ(count_of(html, "<h1>"), 1U);
  const std::size_t pictures = count_of(html, "<svg role=\"img\"");
  EXPECT_EQ(pictures, 4U);  // bandwidth, time, pairs, training
  EXPECT_EQ(count_of(html, "<svg"), pictures);
  EXPECT_EQ(count_of(html, "<figcaption>"), pictures);
}

TEST(Page, OfNothingIsStillAPage) {
  const std::string html = page_html({});
  EXPECT_TRUE(contains(html, "</html>"));
  EXPECT_FALSE(contains(html, "nan"));
}

TEST(Picture, PointsAreWhereTheirValuesAre) {
  Results results;
  for (const auto& [bytes, busbw] : {std::pair{1 << 10, 0.0}, std::pair{1 << 20, 1.25e9}}) {
    results.measurements.push_back({.operation = "all-reduce",
                                    .backend = "bare",
                                    .ranks = 2,
                                    .bytes = bytes,
                                    .mean_s = 1,
                                    .busbw = busbw});
  }
  const std::string svg = bandwidth_svg(series_of(results), 0.625e9);
  const std::regex circle("<circle [^>]*cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"[^>]*><title>([^<]*)<");
  std::vector<std::pair<double, double>> points;
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), circle); it != std::sregex_iterator();
       ++it) {
    points.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
  }
  ASSERT_EQ(points.size(), 2U) << svg;
  EXPECT_LT(points[0].first, points[1].first);
  EXPECT_GT(points[0].second, points[1].second);  // larger values are drawn higher
  // The expected 5 Gbit/s are halfway up to the measured 10.
  const std::regex dash("class=\"dash s5\" d=\"M[0-9.]+ ([0-9.]+)L");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(svg, found, dash));
  EXPECT_NEAR(std::stod(found[1]), (points[0].second + points[1].second) / 2, 0.2);
  EXPECT_TRUE(contains(svg, "expected 5.00 Gbit/s"));
  EXPECT_TRUE(contains(svg, ">1K<"));
  EXPECT_TRUE(contains(svg, ">1M<"));
}

TEST(Picture, BrightnessGrowsWithTheValue) {
  EXPECT_EQ(heat_colour(0), "#440154");
  EXPECT_EQ(heat_colour(1), "#fde725");
  EXPECT_EQ(heat_colour(7), heat_colour(1));
  double before = -1;
  for (int i = 0; i <= 20; ++i) {
    const unsigned long rgb = std::stoul(heat_colour(i / 20.0).substr(1), nullptr, 16);
    const double brightness = 0.299 * static_cast<double>(rgb >> 16) +
                              0.587 * static_cast<double>((rgb >> 8) & 255) +
                              0.114 * static_cast<double>(rgb & 255);
    EXPECT_GT(brightness, before);
    before = brightness;
  }
}

Results ring_of(int hosts) {
  Results results;
  for (int i = 0; i < hosts; ++i) results.hosts.push_back({.name = "n" + std::to_string(i)});
  for (int i = 0; i < hosts; ++i) {
    for (int j = i + 1; j < hosts; ++j) {
      results.pairs.push_back({.one = results.hosts[i].name,
                               .other = results.hosts[j].name,
                               .forward = 1.25e9,
                               .backward = 0.5e9});
    }
  }
  return results;
}

TEST(HeatMap, ShowsBothDirectionsAndOutlinesSuspects) {
  Results results = ring_of(4);
  results.suspects = {{.hosts = {"n1"}, .confirmed = true}, {.hosts = {"n2", "n3"}}};
  const std::string svg = heat_map_svg(results);
  EXPECT_EQ(count_of(svg, ">10.0</text>"), 6U + 1U);  // six cells and the end of the scale
  EXPECT_EQ(count_of(svg, ">4.00</text>"), 6U);
  EXPECT_TRUE(contains(svg, "<title>n0 to n1: 10.0 Gbit/s</title>"));
  EXPECT_TRUE(contains(svg, "<title>n1 to n0: 4.00 Gbit/s</title>"));
  EXPECT_EQ(count_of(svg, "class=\"mark\""), 2U);         // row and column of n1
  EXPECT_EQ(count_of(svg, "class=\"mark unsure\""), 2U);  // both ways of n2 - n3
}

TEST(HeatMap, NamesDifferWhereTheyAreCut) {
  Results results = ring_of(2);
  const auto rename = [&results](const std::string& one, const std::string& other) {
    results.hosts = {{.name = one}, {.name = other}};
    results.pairs[0].one = one;
    results.pairs[0].other = other;
    return heat_map_svg(results);
  };
  const std::string long_names = rename("cluster-with-a-long-name-1", "cluster-with-a-long-name-2");
  EXPECT_TRUE(contains(long_names, ">cluster-wi\u2026ng-name-1<")) << long_names;
  EXPECT_TRUE(contains(long_names, ">cluster-wi\u2026ng-name-2<"));
  EXPECT_TRUE(contains(rename("n1.example.org", "n2.example.org"), ">n2<"));
  EXPECT_TRUE(contains(rename("10.0.0.1", "11.0.0.1"), ">11.0.0.1<"));
}

TEST(HeatMap, OfManyHostsStaysSmall) {
  EXPECT_LT(heat_map_svg(ring_of(200)).size(), 1'500'000U);
}

}  // namespace
}  // namespace muster::bench
