#include "bench/page_table.hpp"

#include <fmt/format.h>

#include "report/markup.hpp"

namespace muster::bench {
namespace {

using report::escaped;

std::string header_cells(const PageTable& table) {
  std::string html;
  for (const PageTable::Column& column : table.columns) {
    html += fmt::format("<th scope=\"col\"{}>{}{}</th>", column.number ? "" : " class=\"w\"",
                        escaped(column.name),
                        column.unit.empty() ? "" : "<small>" + escaped(column.unit) + "</small>");
  }
  return html;
}

}  // namespace

// Wraps the table in a region that can get the keyboard's focus, so that it can be scrolled.
std::string table_html(const PageTable& table) {
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\n"
      "<caption>{0}</caption>\n<thead><tr>{1}</tr></thead>\n<tbody>\n",
      escaped(table.caption), header_cells(table));
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i) {
      const char* look = table.columns[i].number  ? ""
                         : table.columns[i].wraps ? " class=\"w long\""
                                                  : " class=\"w\"";
      html += fmt::format("<td{}>{}</td>", look, escaped(row[i]));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace muster::bench
