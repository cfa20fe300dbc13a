#include "facts/python_imports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace muster::facts {
namespace {

// Returns each import in the form "..a.b: c, d".
std::vector<std::string> imports(std::string_view text) {
  std::vector<std::string> texts;
  for (const Import& one : python_imports(text)) {
    texts.push_back(fmt::format("{}{}: {}", std::string(static_cast<std::size_t>(one.dots), '.'),
                                fmt::join(one.module, "."), fmt::join(one.names, ", ")));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(PythonImports, name_modules) {
  EXPECT_EQ(imports("import a\nimport b.c as d, e  # import f\n"), (Texts{"a: ", "b.c: ", "e: "}));
  EXPECT_EQ(imports("from a.b import c as d, e\nfrom f import *"), (Texts{"a.b: c, e", "f: "}));
  EXPECT_EQ(imports("from . import a\nfrom ..b import c"), (Texts{".: a", "..b: c"}));
  EXPECT_EQ(imports("try:\n    import a; import b\nexcept: x(); import c"),
            (Texts{"a: ", "b: ", "c: "}));
}

TEST(PythonImports, go_on_in_the_next_line) {
  EXPECT_EQ(imports("from a import (b,  # one\n  c as d,\n)\r\nimport e\n"),
            (Texts{"a: b, c", "e: "}));
  EXPECT_EQ(imports("from a import b, \\\n  c\nimport d"), (Texts{"a: b, c", "d: "}));
  EXPECT_EQ(imports("from here on (as said\nimport a"), (Texts{"a: "}));
  EXPECT_EQ(imports("from a import (b"), (Texts{"a: b"}));
}

TEST(PythonImports, are_nothing_else) {
  EXPECT_EQ(imports(""), Texts{});
  EXPECT_EQ(imports("importlib.import_module('a')\nimported = 1\n# import b\nx = 'from c'\n"),
            Texts{});
  EXPECT_EQ(imports("import ../a\nimport /etc\nimport a..b\nfrom  import c\nfrom a"), Texts{});
}

TEST(PythonImports, cost_no_more_than_the_text_is_long) {
  std::string text = "from a import (\n";
  for (int i = 0; i < 1'000'000; ++i) text += "b,\n";
  EXPECT_EQ(python_imports(text).front().names.size(), 1'000'000U);
}

}  // namespace
}  // namespace muster::facts
