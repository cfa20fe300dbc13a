#include "hosts/yaml_map.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <sstream>
#include <unordered_map>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/printable.hpp"

namespace muster::hosts {
namespace {

constexpr std::size_t kMostLevels = 4;  // file, profiles, one profile, a map in it

Error refuse_at(const Source& source, int line, int column, std::string what,
                std::string hint = {}) {
  Error error{.code = ErrorCode::kUsage, .what = std::move(what)};
  error.where = {.file = source.name, .line = line, .column = column};
  error.hint = std::move(hint);
  return error;
}

// Collects yaml-cpp's events. After the first error, ignores the rest of the file.
class Collector : public YAML::EventHandler {
 public:
  explicit Collector(const Source& source) : source_(source) {}

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override {
    in_list_ = false;
    expects_key_ = true;
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override {
    if (!refusal_) levels_.pop_back();
    expects_key_ = true;
  }

  [[nodiscard]] bool refused() const { return refusal_.has_value(); }
  [[nodiscard]] Result<std::vector<YamlEntry>> result() {
    if (refusal_) return unexpected(*std::move(refusal_));
    return std::move(entries_);
  }

 private:
  // A map whose end has not been read yet.
  struct Level {
    // Stays valid, because the outer maps do not grow while an inner one is read.
    std::vector<YamlEntry>* entries;
    std::unordered_map<std::string, int> lines;  // line of each key so far
  };

  void refuse(const YAML::Mark& mark, std::string what, std::string hint) {
    if (refusal_) return;
    refusal_ = refuse_at(source_, mark.line + 1, mark.column + 1, std::move(what), std::move(hint));
  }
  void refuse_anchor(const YAML::Mark& mark) {
    refuse(mark, "anchors and aliases are not supported", "write the value out");
  }
  void add_key(const YAML::Mark& mark, YamlScalar key);
  [[nodiscard]] YamlScalar scalar(const YAML::Mark& mark, const std::string& value) const;

  const Source& source_;
  std::vector<YamlEntry> entries_;
  std::vector<Level> levels_;
  std::optional<Error> refusal_;
  int document_at_ = -1;  // position of the byte where the document starts
  bool in_list_ = false;
  bool expects_key_ = true;
};

void Collector::OnDocumentStart(const YAML::Mark& mark) {
  // If a file starts with a comma, yaml-cpp never consumes it and reports new documents without
  // end.
  if (mark.pos == document_at_) {
    refuse(mark, "a YAML file cannot begin with this", "");
  } else if (document_at_ >= 0) {
    refuse(mark, "a second document starts here", "keep only one document in the file");
  }
  document_at_ = mark.pos;
}

YamlScalar Collector::scalar(const YAML::Mark& mark, const std::string& value) const {
  YamlScalar scalar{.text = value, .line = mark.line + 1, .column = mark.column + 1};
  const auto at = std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), source_.text.size());
  const std::string_view here = source_.text.substr(at);
  scalar.as_is = here.substr(0, value.size()) == value;
  const bool quoted = !here.empty() && (here[0] == '"' || here[0] == '\'');
  if (quoted && here.substr(1, value.size()) == value) {
    scalar.as_is = true;
    ++scalar.column;
  }
  return scalar;
}

void Collector::add_key(const YAML::Mark& mark, YamlScalar key) {
  Level& level = levels_.back();
  const auto [at, is_new] = level.lines.try_emplace(key.text, key.line);
  if (!is_new) {
    refuse(mark,
           fmt::format("{} occurs twice; the first time in line {}", excerpt(key.text), at->second),
           "keep one of them");
    return;
  }
  level.entries->push_back({.key = std::move(key)});
  expects_key_ = false;
}

void Collector::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (refusal_ || levels_.empty()) return;
  if (anchor != YAML::NullAnchor) return refuse_anchor(mark);
  if (in_list_ || expects_key_) return refuse(mark, "expected a value, found nothing", "");
  expects_key_ = true;
}

void Collector::OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                         const std::string& value) {
  if (refusal_) return;
  if (anchor != YAML::NullAnchor) return refuse_anchor(mark);
  if (levels_.empty()) return refuse(mark, "the file does not consist of KEY: VALUE lines", "");
  if (expects_key_) return add_key(mark, scalar(mark, value));
  levels_.back().entries->back().values.push_back(scalar(mark, value));
  expects_key_ = !in_list_;
}

void Collector::OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/,
                                YAML::anchor_t anchor, YAML::EmitterStyle::value /*style*/) {
  if (refusal_) return;
  if (anchor != YAML::NullAnchor) return refuse_anchor(mark);
  if (levels_.empty() || in_list_ || expects_key_) {
    return refuse(mark, "a list is not allowed here", "");
  }
  levels_.back().entries->back().is_list = true;
  in_list_ = true;
}

void Collector::OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/,
                           YAML::anchor_t anchor, YAML::EmitterStyle::value /*style*/) {
  if (refusal_) return;
  if (anchor != YAML::NullAnchor) return refuse_anchor(mark);
  if (levels_.empty()) {
    levels_.push_back({.entries = &entries_, .lines = {}});
    return;
  }
  if (in_list_ || expects_key_ || levels_.size() == kMostLevels) {
    return refuse(mark, "KEY: VALUE is not allowed inside a value here", "");
  }
  YamlEntry& entry = levels_.back().entries->back();
  entry.is_map = true;
  levels_.push_back({.entries = &entry.entries, .lines = {}});
  expects_key_ = true;
}

}  // namespace

Result<std::vector<YamlEntry>> parse_yaml_map(const Source& source) {
  Collector collector(source);
  try {
    std::istringstream stream{std::string(source.text)};
    YAML::Parser parser(stream);
    while (!collector.refused() && parser.HandleNextDocument(collector)) {
    }
  } catch (const YAML::Exception& error) {
    return unexpected(
        refuse_at(source, error.mark.line + 1, error.mark.column + 1,
                  fmt::format("this is not YAML: {}", printable(error.msg)),
                  "quote values that contain brackets or colons: hosts: \"node[01-16]:4\""));
  } catch (const std::exception& error) {
    return unexpected(
        refuse_at(source, 0, 0, fmt::format("this is not YAML: {}", printable(error.what()))));
  }
  return collector.result();
}

}  // namespace muster::hosts
