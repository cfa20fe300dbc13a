#include "base/json.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "base/json_fields.hpp"
#include "base/json_schema.hpp"

namespace muster {

enum class Shade { kDark, kLight };

static auto texts_of(Shade) {
  return std::array{std::pair(Shade::kDark, "dark"), std::pair(Shade::kLight, "light")};
}

struct Inner {
  int count = 0;
};

template <class V>
void fields(V& v, Inner& i) {
  v("count", i.count);
}

struct Outer {
  std::string name;
  Shade shade = Shade::kDark;
  std::vector<Inner> list;
  std::optional<Inner> null_or_inner;
  std::optional<Inner> absent_or_inner;
  std::vector<std::string> words;
};

template <class V>
void fields(V& v, Outer& o) {
  v("name", o.name), v("shade", o.shade), v("list", o.list);
  v("null_or_inner", o.null_or_inner), v.maybe("absent_or_inner", o.absent_or_inner);
  v.maybe("words", o.words);
}

struct Words {
  std::string line;
  std::string lines;
  std::vector<std::string> list;
  std::map<std::string, std::string> map;
};

template <class V>
void fields(V& v, Words& w) {
  v("line", w.line), v.lines("lines", w.lines), v("list", w.list), v("map", w.map);
}

// Another struct named Inner. That is allowed, but one schema cannot contain both.
namespace other {
struct Inner {
  double count = 0;
};
template <class V>
void fields(V& v, Inner& i) {
  v("count", i.count);
}
}  // namespace other

struct Both {
  Inner one;
  other::Inner two;
};
template <class V>
void fields(V& v, Both& b) {
  v("one", b.one), v("two", b.two);
}

namespace {

std::string why_not(const std::string& text, const JsonLimits& limits = {}) {
  const auto read = read_fields<Outer>(text, limits);
  return read ? "" : read.error().what;
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(ParseJson, LimitsDepthAndLength) {
  EXPECT_TRUE(parse_json(nested(3), {.depth = 3}));
  EXPECT_EQ(parse_json(nested(4), {.depth = 3}).error().what, "nested too deeply");
  EXPECT_EQ(parse_json(std::string(1'000'000, '[')).error().what, "nested too deeply");
  EXPECT_EQ(parse_json(R"({"a":{"a":{"a":1}}})", {.depth = 2}).error().what, "nested too deeply");
  EXPECT_TRUE(parse_json("[0]", {.bytes = 3}));
  EXPECT_EQ(parse_json("[0] ", {.bytes = 3}).error().what, "too long");
}

TEST(ParseJson, CountsNoBracketsInsideText) {
  EXPECT_TRUE(parse_json(R"(["[[[[", "\"[[[[", "\\", "[["])", {.depth = 1}));
  EXPECT_TRUE(parse_json("[[],[],[[]]]", {.depth = 3}));
}

TEST(ParseJson, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "nul", "{\"a\"}", "[1] [2]", "1e999", "\"\xff\""}) {
    EXPECT_EQ(parse_json(text).error().what, "no JSON") << text;
  }
}

TEST(JsonText, ReplacesBytesThatAreNotUtf8) {
  const std::string text = json_text(nlohmann::json("a\xff"));
  EXPECT_EQ(text, "\"a\xef\xbf\xbd\"");
  EXPECT_TRUE(parse_json(text));
}

TEST(Fields, AreWrittenAsDeclaredOrSorted) {
  const Outer outer{.name = "n", .shade = Shade::kLight, .list = {{1}, {2}}};
  EXPECT_EQ(
      json_of_fields(outer),
      R"({"name":"n","shade":"light","list":[{"count":1},{"count":2}],"null_or_inner":null})");
  EXPECT_EQ(
      sorted_json_of_fields(outer),
      R"({"list":[{"count":1},{"count":2}],"name":"n","null_or_inner":null,"shade":"light"})");
  EXPECT_EQ(sorted_json_of_fields(Inner{.count = 3}, 1), "{\n \"count\": 3\n}");
}

TEST(Fields, AreReadBack) {
  const Outer outer{.name = "n",
                    .shade = Shade::kLight,
                    .list = {{7}},
                    .null_or_inner = Inner{8},
                    .absent_or_inner = Inner{9},
                    .words = {"a"}};
  const auto read = read_fields<Outer>(json_of_fields(outer));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(json_of_fields(*read), json_of_fields(outer));
  const auto empty = read_fields<Outer>(json_of_fields(Outer{}));
  ASSERT_TRUE(empty) << empty.error().what;
  EXPECT_FALSE(empty->absent_or_inner);
}

TEST(Fields, SayWhatIsWrongAndWhere) {
  const std::string good = json_of_fields(Outer{.name = "n", .list = {{1}}});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(why_not(good), "");
  EXPECT_EQ(why_not(with("\"n\"", "3")), "name is not text");
  EXPECT_EQ(why_not(with("\"dark\"", "\"red\"")), "shade is not one of the allowed words");
  EXPECT_EQ(why_not(with("{\"count\":1}", "[]")), "list is not an object");
  EXPECT_EQ(why_not(with("1", "1.5")), "list.count is not a whole number");
  EXPECT_EQ(why_not(with("null}", "null,\"absent_or_inner\":{}}")),
            "absent_or_inner.count is missing");
  EXPECT_EQ(why_not(with("null}", "null,\"words\":[1]}")), "words is not text");
  EXPECT_EQ(why_not("[]"), " is not an object");
}

TEST(Fields, KeepTheLimits) {
  const std::string text = json_of_fields(Outer{.name = "nnn", .list = {{1}, {2}, {3}}});
  EXPECT_EQ(why_not(text, {.text_bytes = 2}), "name is too long");
  EXPECT_EQ(why_not(text, {.items = 2}), "list has too many items");
  EXPECT_EQ(why_not(text, {.depth = 2}), "nested too deeply");
  EXPECT_EQ(why_not(text, {.bytes = 20}), "too long");
}

TEST(Fields, TextsArePrintable) {
  const std::string raw = "\x1b]0;t\a\n\u00f6\u009b";
  const Words said{.line = raw, .lines = raw, .list = {raw}, .map = {{raw, raw}}};
  const auto read = read_fields<Words>(json_of_fields(said));
  ASSERT_TRUE(read) << read.error().what;
  const std::string clean = "?]0;t??\u00f6?";
  EXPECT_EQ(read->line, clean);
  EXPECT_EQ(read->lines, "?]0;t?\n\u00f6?");
  EXPECT_EQ(read->list, std::vector<std::string>{clean});
  EXPECT_EQ(read->map, (std::map<std::string, std::string>{{clean, clean}}));
}

TEST(Fields, TextsThatAreExecutedStayAsTheyAre) {
  const std::string raw = "printf '\x1b[31m'\nexit\t1";
  const Words said{.line = raw, .lines = raw, .list = {raw}, .map = {{raw, raw}}};
  const auto read = read_fields<Words>(json_of_fields(said), kExactTexts);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(json_of_fields(*read), json_of_fields(said));
}

TEST(JsonSchema, ComesFromTheFields) {
  EXPECT_EQ(json_text(json_schema_of<Outer>()),
            R"({"type":"object","properties":{"name":{"type":"string"},)"
            R"("shade":{"enum":["dark","light"]},)"
            R"("list":{"type":"array","items":{"$ref":"#/$defs/Inner"}},)"
            R"("null_or_inner":{"anyOf":[{"$ref":"#/$defs/Inner"},{"type":"null"}]},)"
            R"("absent_or_inner":{"$ref":"#/$defs/Inner"},)"
            R"("words":{"type":"array","items":{"type":"string"}}},)"
            R"("required":["name","shade","list","null_or_inner"],)"
            R"("$defs":{"Inner":{"type":"object","properties":{"count":{"type":"integer"}},)"
            R"("required":["count"]}}})");
}

TEST(JsonSchema, RefusesTwoStructsOfOneName) {
  EXPECT_THROW((void)json_schema_of<Both>(), std::logic_error);
}

}  // namespace
}  // namespace muster
