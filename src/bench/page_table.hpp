// Tables of the HTML page. Callers pass plain text, which is escaped here.
#pragma once

#include <string>
#include <vector>

namespace muster::bench {

struct PageTable {
  std::string caption;
  struct Column {
    std::string name;
    std::string unit = {};
    bool number = true;  // false: words, aligned on the left
    bool wraps = false;
  };
  std::vector<Column> columns = {};
  std::vector<std::vector<std::string>> rows = {};
};

[[nodiscard]] std::string table_html(const PageTable& table);

}  // namespace muster::bench
