// Tables of the page. Cells are text; they are escaped here.
#pragma once

#include <string>
#include <vector>

namespace muster::bench {

struct PageTable {
  std::string caption;
  struct Column {
    std::string name;
    std::string unit = {};
    bool number = true;  // else words, on the left
    bool wraps = false;
  };
  std::vector<Column> columns = {};
  std::vector<std::vector<std::string>> rows = {};
};

[[nodiscard]] std::string table_html(const PageTable& table);

}  // namespace muster::bench
