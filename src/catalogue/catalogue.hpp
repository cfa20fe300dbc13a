// The failure catalogue: what can go wrong in a distributed job, how a log shows it, how to prove
// it, and how to fix it. The entries are in failures/*.yaml, which is compiled into the binary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::catalogue {

enum class Kind {
  kCause,        // a line that matches names a root cause
  kConsequence,  // a line that matches follows from another failure
  kBenign,       // healthy jobs print it too
};

// What the user notices first. The troubleshooting page is ordered by it.
enum class Symptom {
  kNoLogin,
  kNoStart,
  kNoRendezvous,
  kHang,
  kCrash,
  kSlow,
  kWrongResult,
  kWarning,
};

// Texts may contain placeholders such as {host}. A step that begins with "$ " is a command.
struct Failure {
  std::string id;
  std::string topic;  // name of the file that contains the entry
  std::string title;
  Kind kind = Kind::kCause;
  Symptom symptom = Symptom::kCrash;
  std::string seen_in;
  std::vector<std::string> patterns;  // RE2; empty if no log shows it
  std::string meaning;
  std::vector<std::string> prove;
  std::vector<std::string> fix;
  std::vector<std::string> sources;
};

// Returns all failures; those of one topic are adjacent. They are parsed once, from text inside the
// binary. A unit test parses the same text, so parsing cannot fail here.
[[nodiscard]] const std::vector<Failure>& failures();
// Returns nullptr if there is no such id.
[[nodiscard]] const Failure* find(std::string_view id);

// Parses one file of the catalogue. An Error names the faulty entry.
[[nodiscard]] Result<std::vector<Failure>> parse(const std::string& topic, const std::string& yaml);

// Returns "cause" or "no-login", as in the YAML files.
[[nodiscard]] std::string name_of(Kind kind);
[[nodiscard]] std::string name_of(Symptom symptom);
// Returns a title for people, such as "Hosts refuse the login".
[[nodiscard]] std::string title_of(Symptom symptom);
[[nodiscard]] const std::vector<Symptom>& all_symptoms();

}  // namespace muster::catalogue
