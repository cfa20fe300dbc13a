#include "catalogue/catalogue.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "catalogue/text.hpp"

namespace muster::catalogue {
namespace {

constexpr std::array kKinds = {
    std::pair{Kind::kCause, "cause"},
    std::pair{Kind::kConsequence, "consequence"},
    std::pair{Kind::kBenign, "benign"},
};

struct SymptomRow {
  Symptom symptom;
  const char* name;
  const char* title;
};
constexpr std::array kSymptoms = {
    SymptomRow{Symptom::kNoLogin, "no-login", "A host refuses the login"},
    SymptomRow{Symptom::kNoStart, "no-start", "The job does not start"},
    SymptomRow{Symptom::kNoRendezvous, "no-rendezvous", "The ranks do not find each other"},
    SymptomRow{Symptom::kHang, "hang", "The job hangs"},
    SymptomRow{Symptom::kCrash, "crash", "A rank fails"},
    SymptomRow{Symptom::kSlow, "slow", "The job is slow"},
    SymptomRow{Symptom::kWrongResult, "wrong-result", "The result is wrong"},
    SymptomRow{Symptom::kWarning, "warning", "There is only a warning"},
};

const SymptomRow& row_of(Symptom symptom) {
  return *std::find_if(kSymptoms.begin(), kSymptoms.end(),
                       [&](const SymptomRow& row) { return row.symptom == symptom; });
}

std::optional<Kind> kind_of(const std::string& name) {
  for (const auto& [kind, known] : kKinds) {
    if (name == known) return kind;
  }
  return std::nullopt;
}

std::optional<Symptom> symptom_of(const std::string& name) {
  for (const SymptomRow& row : kSymptoms) {
    if (name == row.name) return row.symptom;
  }
  return std::nullopt;
}

std::vector<std::string> list_of(const YAML::Node& node) {
  std::vector<std::string> texts;
  for (const YAML::Node& one : node) texts.push_back(one.as<std::string>());
  return texts;
}

Error wrong(const std::string& topic, const std::string& why) {
  return {.code = ErrorCode::kSystem,
          .what = "the failure catalogue cannot be read: " + why,
          .where = {.file = topic + ".yaml"}};
}

// Returns a key that no code reads, which must be a typing mistake; empty if there is none.
std::string unknown_key(const YAML::Node& node) {
  constexpr std::array kKeys = {"id",       "title",   "kind",  "symptom", "seen_in",
                                "patterns", "meaning", "prove", "fix",     "sources"};
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) return key;
  }
  return {};
}

Result<Failure> failure_of(const std::string& topic, const YAML::Node& node) {
  const auto text = [&](const char* key) { return node[key].as<std::string>(); };
  Failure failure{.id = text("id"), .topic = topic, .title = text("title")};
  if (const std::string key = unknown_key(node); !key.empty()) {
    return unexpected(wrong(topic, fmt::format("{} has an unknown key '{}'", failure.id, key)));
  }
  const auto kind = kind_of(text("kind"));
  const auto symptom = symptom_of(text("symptom"));
  if (!kind) return unexpected(wrong(topic, failure.id + " has an unknown kind"));
  if (!symptom) return unexpected(wrong(topic, failure.id + " has an unknown symptom"));
  failure.kind = *kind;
  failure.symptom = *symptom;
  failure.seen_in = text("seen_in");
  failure.patterns = list_of(node["patterns"]);
  failure.meaning = text("meaning");
  failure.prove = list_of(node["prove"]);
  failure.fix = list_of(node["fix"]);
  failure.sources = list_of(node["sources"]);
  return failure;
}

std::vector<Failure> read_all() {
  std::vector<Failure> all;
  for (const auto& [topic, yaml] : texts()) {
    auto some = parse(topic, yaml);
    if (some) std::move(some->begin(), some->end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

Result<std::vector<Failure>> parse(const std::string& topic, const std::string& yaml) {
  std::vector<Failure> failures;
  std::string last = "its first entry";
  try {
    for (const YAML::Node& node : YAML::Load(yaml)) {
      MUSTER_TRY(Failure failure, failure_of(topic, node));
      last = "the entry after " + failure.id;
      failures.push_back(std::move(failure));
    }
  } catch (const YAML::Exception& exception) {
    return unexpected(wrong(topic, fmt::format("{}: {}", last, exception.what())));
  }
  return failures;
}

const std::vector<Failure>& failures() {
  static const std::vector<Failure> all = read_all();
  return all;
}

const Failure* find(std::string_view id) {
  const auto& all = failures();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Failure& one) { return one.id == id; });
  return found == all.end() ? nullptr : &*found;
}

std::string name_of(Kind kind) {
  return std::find_if(kKinds.begin(), kKinds.end(),
                      [&](const auto& one) { return one.first == kind; })
      ->second;
}

std::string name_of(Symptom symptom) {
  return row_of(symptom).name;
}

std::string title_of(Symptom symptom) {
  return row_of(symptom).title;
}

const std::vector<Symptom>& all_symptoms() {
  static const std::vector<Symptom> all = [] {
    std::vector<Symptom> symptoms;
    for (const SymptomRow& row : kSymptoms) symptoms.push_back(row.symptom);
    return symptoms;
  }();
  return all;
}

}  // namespace muster::catalogue
