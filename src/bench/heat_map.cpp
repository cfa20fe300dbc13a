#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/numbers.hpp"
#include "bench/picture.hpp"
#include "report/markup.hpp"

namespace muster::bench {
namespace {

using report::escaped;

constexpr int kHostsWithValues = 16;
constexpr int kHostsWithTitles = 32;  // more would make the page heavy
constexpr int kShades = 40;
constexpr std::size_t kNameLetters = 20;
constexpr double kNameLetter = 7.4;

struct Rgb {
  double red, green, blue;
};
// From dark violet over blue and green to yellow. Brightness rises all the way, so the scale also
// works for colour-blind readers.
constexpr std::array<Rgb, 6> kAnchors = {
    {{68, 1, 84}, {65, 68, 135}, {42, 120, 142}, {34, 168, 132}, {122, 209, 81}, {253, 231, 37}}};

// Drops the domain if all hosts have the same, and shortens names to the available room.
std::vector<std::string> shown_names(const std::vector<std::string>& hosts) {
  const std::string domain =
      hosts[0].find('.') == std::string::npos ? "" : hosts[0].substr(hosts[0].find('.'));
  const bool shared = std::all_of(hosts.begin(), hosts.end(), [&domain](const std::string& host) {
    return host.find('.') != std::string::npos && host.substr(host.find('.')) == domain;
  });
  // What follows the first dot of an IP address is not a domain.
  const bool drop =
      shared && hosts.size() > 1 && domain.find_first_not_of(".0123456789") < domain.size();
  std::vector<std::string> names;
  for (const std::string& host : hosts) {
    names.push_back(
        report::shortened(drop ? host.substr(0, host.size() - domain.size()) : host, kNameLetters));
  }
  return names;
}

struct Grid {
  const PairMatrix& matrix;
  std::vector<std::string> names;
  int count;
  double left, top, width, height;  // position of the whole grid; size of one cell
  double highest;                   // highest speed in bytes per second
  double unit;                      // bytes per second that one unit stands for
  const char* unit_name;

  [[nodiscard]] double x(int column) const { return left + width * column; }
  [[nodiscard]] double y(int row) const { return top + height * row; }
  [[nodiscard]] double right() const { return x(count); }
  [[nodiscard]] double bottom() const { return y(count); }
};

Grid grid_for(const PairMatrix& matrix) {
  const int count = static_cast<int>(matrix.hosts.size());
  std::size_t longest = 4;
  std::vector<std::string> shown = shown_names(matrix.hosts);
  for (const std::string& name : shown) longest = std::max(longest, name.size());
  const double names = kNameLetter * static_cast<double>(std::min(longest, kNameLetters)) + 18;
  double highest = 0;
  for (const auto& [place, speed] : matrix.speeds) highest = std::max(highest, speed);
  const bool large = highest * 8 >= 1e9;
  const double cell = count <= kHostsWithValues ? 0 : std::clamp(640.0 / count, 3.0, 30.0);
  return {.matrix = matrix,
          .names = std::move(shown),
          .count = count,
          .left = std::max(names + 14, 106.0),  // room for "from, to"
          .top = names * 0.72 + 34,
          .width = cell > 0 ? cell : 52,
          .height = cell > 0 ? cell : 34,
          .highest = highest > 0 ? highest : 1,
          .unit = (large ? 1e9 : 1e6) / 8,
          .unit_name = large ? "Gbit/s" : "Mbit/s"};
}

int shade_of(const Grid& grid, double speed) {
  return static_cast<int>(std::lround(std::clamp(speed / grid.highest, 0.0, 1.0) * kShades));
}

// Draws one path per shade, because a hundred hosts have ten thousand cells. On large grids,
// neighbouring cells of the same shade become one box.
std::string cells_of(const Grid& grid) {
  std::map<int, std::string> paths;
  const auto& speeds = grid.matrix.speeds;  // row by row
  for (auto cell = speeds.begin(); cell != speeds.end();) {
    const auto [row, from] = cell->first;
    const int shade = shade_of(grid, cell->second);
    int next = from;
    do {
      ++next;
      ++cell;
    } while (grid.count > kHostsWithTitles && cell != speeds.end() &&
             cell->first == std::pair(row, next) && shade_of(grid, cell->second) == shade);
    paths[shade] += fmt::format("M{:.5g} {:.5g}h{:.5g}v{:.5g}H{:.5g}z", grid.x(from), grid.y(row),
                                grid.width * (next - from), grid.height, grid.x(from));
  }
  std::string svg;
  for (const auto& [shade, path] : paths) {
    svg += fmt::format("<path{0} fill=\"{1}\" d=\"{2}\"/>\n",
                       grid.count <= kHostsWithTitles ? " class=\"gap\"" : "",
                       heat_colour(static_cast<double>(shade) / kShades), path);
  }
  return svg;
}

std::string values_of(const Grid& grid) {
  std::string svg;
  for (const auto& [place, speed_there] : grid.matrix.speeds) {
    const auto& [from, to] = place;
    if (grid.count <= kHostsWithValues) {
      svg += fmt::format(
          "<text class=\"cell\" style=\"fill:{}\" x=\"{:.5g}\" y=\"{:.5g}\">{}</text>",
          speed_there / grid.highest > 0.55 ? "#000" : "#fff", grid.x(to) + grid.width / 2,
          grid.y(from) + grid.height / 2 + 4.5, short_number(speed_there / grid.unit));
    }
    if (grid.count <= kHostsWithTitles) {
      svg += fmt::format(
          "<rect x=\"{:.5g}\" y=\"{:.5g}\" width=\"{:.5g}\" height=\"{:.5g}\" fill=\"transparent\">"
          "<title>{} to {}: {}</title></rect>\n",
          grid.x(to), grid.y(from), grid.width, grid.height, escaped(grid.matrix.hosts[from]),
          escaped(grid.matrix.hosts[to]), speed(speed_there));
    }
  }
  return svg;
}

std::string names_of(const Grid& grid, const std::vector<bool>& suspect) {
  const auto shown = [&](int i, double apart, double cell) {
    const int each = std::max(1, static_cast<int>(std::ceil(apart / cell)));
    // The names of suspects are always shown. Other names that would overlap with them are left
    // out.
    if (suspect[i]) return true;
    const int from = std::max(0, i - each + 1), to = std::min(grid.count, i + each);
    return i % each == 0 &&
           std::find(suspect.begin() + from, suspect.begin() + to, true) == suspect.begin() + to;
  };
  std::string svg;
  for (int i = 0; i < grid.count; ++i) {
    const std::string name = escaped(grid.names[i]);
    const char* look = suspect[i] ? " class=\"bad\"" : "";
    if (shown(i, 15, grid.height)) {
      svg += fmt::format("<text{} x=\"{:.5g}\" y=\"{:.5g}\" text-anchor=\"end\">{}</text>\n", look,
                         grid.left - 8, grid.y(i) + grid.height / 2 + 4.5, name);
    }
    if (!shown(i, 22, grid.width)) continue;  // names of columns are drawn at an angle
    const double x = grid.x(i) + grid.width / 2 + 4, y = grid.top - 8;
    svg += fmt::format(
        "<text{0} x=\"{1:.5g}\" y=\"{2:.5g}\" transform=\"rotate(-45 {1:.5g} {2:.5g})\">"
        "{3}</text>\n",
        look, x, y, name);
  }
  return svg;
}

// Draws a box around the cells without covering them.
std::string box(const Grid& grid, int column, int row, int columns, int rows, bool sure) {
  const double line = std::clamp(grid.height * 0.3, 1.0, 3.0), out = line / 2 - 0.5;
  return fmt::format(
      "<rect class=\"mark{}\" style=\"stroke-width:{:.3g}\" x=\"{:.5g}\" y=\"{:.5g}\" "
      "width=\"{:.5g}\" height=\"{:.5g}\"/>\n",
      sure ? "" : " unsure", line, grid.x(column) - out, grid.y(row) - out,
      grid.width * columns + 2 * out, grid.height * rows + 2 * out);
}

std::string outlines_of(const Grid& grid, const Results& results, std::vector<bool>& suspect) {
  std::string svg;
  for (const Suspect& found : results.suspects) {
    std::vector<int> places;
    for (const std::string& host : found.hosts) places.push_back(grid.matrix.index(host));
    if (std::count(places.begin(), places.end(), -1) != 0) continue;
    if (places.size() == 1) {
      suspect[places[0]] = true;
      svg += box(grid, 0, places[0], grid.count, 1, found.confirmed);
      svg += box(grid, places[0], 0, 1, grid.count, found.confirmed);
    } else if (places.size() == 2) {
      svg += box(grid, places[0], places[1], 1, 1, found.confirmed);
      svg += box(grid, places[1], places[0], 1, 1, found.confirmed);
    }
  }
  return svg;
}

std::string scale_of(const Grid& grid) {
  const double x = grid.right() + 28, height = std::min(220.0, grid.bottom() - grid.top);
  std::string svg = "<defs><linearGradient id=\"speeds\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">";
  for (int stop = 0; stop <= 10; ++stop) {
    svg += fmt::format("<stop offset=\"{}%\" stop-color=\"{}\"/>", stop * 10,
                       heat_colour(stop / 10.0));
  }
  svg += fmt::format(
      "</linearGradient></defs><rect x=\"{:.5g}\" y=\"{:.5g}\" width=\"16\" height=\"{:.5g}\" "
      "fill=\"url(#speeds)\"/>",
      x, grid.top, height);
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    svg += fmt::format("<text x=\"{:.5g}\" y=\"{:.5g}\">{}</text>", x + 23,
                       grid.top + height * (1 - share) + 4.5,
                       three_digits(grid.highest * share / grid.unit));
  }
  return svg + fmt::format("<text x=\"{:.5g}\" y=\"{:.5g}\">{}</text>\n", x, grid.top - 14,
                           grid.unit_name);
}

}  // namespace

std::string heat_colour(double share) {
  const double place = std::clamp(share, 0.0, 1.0) * (kAnchors.size() - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(place), kAnchors.size() - 2);
  const double part = place - static_cast<double>(below);
  const Rgb &one = kAnchors.at(below), &other = kAnchors.at(below + 1);
  const auto mixed = [part](double a, double b) {
    return static_cast<int>(std::lround(a + (b - a) * part));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(one.red, other.red),
                     mixed(one.green, other.green), mixed(one.blue, other.blue));
}

std::string heat_map_svg(const Results& results) {
  const PairMatrix matrix = matrix_of(results);
  if (matrix.hosts.empty()) return "";
  const Grid grid = grid_for(matrix);
  std::vector<bool> suspect(matrix.hosts.size(), false);
  const std::string outlines = outlines_of(grid, results, suspect);
  const std::string title = fmt::format(
      "Bandwidth between {} hosts, with one row per sender and one column per receiver; the median "
      "of the slower directions is {}",
      grid.count, speed(matrix.median));
  const double width = std::max(grid.right() + 100, 420.0), height = grid.bottom() + 12;
  std::string svg = fmt::format(
      "<svg role=\"img\" viewBox=\"0 0 {:.0f} {:.0f}\" style=\"max-width:{:.0f}px\" "
      "aria-label=\"{}\">\n<title>{}</title>\n",
      width, height, width, escaped(title), escaped(title));
  svg += fmt::format(
      "<text x=\"{:.5g}\" y=\"{:.5g}\" text-anchor=\"end\">from \u2193 to \u2192</text>",
      grid.left - 8, grid.top - 12);
  return svg + cells_of(grid) + names_of(grid, suspect) + outlines + values_of(grid) +
         scale_of(grid) + "</svg>\n";
}

}  // namespace muster::bench
