// The failure catalogue: what can go wrong with a distributed job, how a log shows it, how to prove
// it, and how to fix it. It is written in failures/*.yaml and compiled into the binary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::catalogue {

enum class Kind {
  kCause,        // a line of it names a root cause
  kConsequence,  // its lines follow from another failure
  kBenign,       // healthy jobs print it too
};

// What the user notices first; the troubleshooting page is ordered by it.
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

// Texts may contain placeholders such as {host}; a step that begins with "$ " is a command.
struct Failure {
  std::string id;
  std::string topic;  // the name of its file
  std::string title;
  Kind kind = Kind::kCause;
  Symptom symptom = Symptom::kCrash;
  std::string seen_in;
  std::vector<std::string> patterns;  // RE2; empty: it shows in no log
  std::string meaning;
  std::vector<std::string> prove;
  std::vector<std::string> fix;
  std::vector<std::string> sources;
};

// All of them, read once; those of one topic are adjacent. The text is part of the binary, so it is
// always readable: a test reads it.
[[nodiscard]] const std::vector<Failure>& failures();
// nullptr: there is no such id.
[[nodiscard]] const Failure* find(std::string_view id);

// Reads one file of the catalogue. An error names the entry.
[[nodiscard]] Result<std::vector<Failure>> parse(const std::string& topic, const std::string& yaml);

// "cause", "no-login"
[[nodiscard]] std::string name_of(Kind kind);
[[nodiscard]] std::string name_of(Symptom symptom);
// "Hosts refuse the login"
[[nodiscard]] std::string title_of(Symptom symptom);
[[nodiscard]] const std::vector<Symptom>& all_symptoms();

}  // namespace muster::catalogue
