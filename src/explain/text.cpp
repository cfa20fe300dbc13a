#include "explain/text.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "explain/wording.hpp"
#include "report/wrap.hpp"

namespace muster::explain {
namespace {

using catalogue::Failure;
using Values = std::map<std::string, std::string>;

constexpr std::size_t kMostCauses = 4;

std::string lines_text(std::uint64_t lines) {
  return lines == 1 ? "1 line" : fmt::format("{} lines", lines);
}

std::string row(std::string_view name, const std::string& text, std::size_t width) {
  return report::indented(fmt::format("  {:<11}", name), text, width);
}

// Lists the steps below each other. Commands are not wrapped, so that users can paste them.
std::string steps(std::string_view name, const std::vector<std::string>& list, const Values& values,
                  std::size_t width) {
  std::string text;
  for (const std::string& step : list) {
    const std::string words = filled(step, values);
    const std::string_view label = text.empty() ? name : "";
    text += words.starts_with("$ ")
                ? fmt::format("  {:<11}{}\n", label, words.substr(2))
                : row(label, sentence(words, step) + (words.ends_with('.') ? "" : "."), width);
  }
  return text;
}

std::string cause_text(const Cause& cause, std::size_t width) {
  std::string text = report::indented("", title_of(cause), width);
  if (const std::string where = who(cause); !where.empty()) text += row("where", where, width);
  if (cause.exception && !cause.exception->exception.frame.file.empty()) {
    const Exception& exception = cause.exception->exception;
    text += row(exception.is_users ? "your code" : "code", frame_text(exception.frame), width);
    if (exception.first) text += row("because of", headline(*exception.first), width);
  }
  if (cause.place.file.empty()) {
    text += row("shown by", cause.text, width);
  } else {
    const std::string where =
        is_parting_words(cause) ? place_text(cause.place) : evidence_of(cause);
    text += row("seen in", where, width);
  }
  if (!cause.found_before.empty()) {
    text += row("before", "check found it before the run: " + cause.found_before, width);
  }
  if (is_parting_words(cause)) {
    text += row("meaning",
                "muster does not know this message. It is the last one before the rank gave up.",
                width);
  }
  if (cause.failure == nullptr) return text;
  text += row("meaning", filled(cause.failure->meaning, cause.values), width);
  text += steps("to prove", cause.failure->prove, cause.step_values, width);
  text += steps("to fix", cause.failure->fix, cause.step_values, width);
  return text;
}

std::string consequences_text(const std::vector<Cause>& consequences, std::size_t width) {
  if (consequences.empty()) return {};
  std::string text = "\nThese only follow from another failure:\n";
  for (const Cause& cause : consequences) {
    const std::string whose = who(cause);
    text += report::indented(
        "  ",
        title_of(cause) + (whose.empty() ? "" : ", " + whose) + ", at " + place_text(cause.place),
        width);
  }
  return text;
}

std::string oddities_text(const std::vector<Oddity>& oddities, std::size_t width) {
  if (oddities.empty()) return {};
  std::string text =
      oddities.size() == 1 ? "\nThis line is unusual:\n" : "\nThese lines are unusual:\n";
  for (const Oddity& odd : oddities) {
    text += report::indented(fmt::format("  {}: ", place_text(odd.place)), odd.text, width);
  }
  return text;
}

// Two underscores would make the text between them bold.
std::string markdown_heading(std::string text) {
  for (std::size_t at = 0; (at = text.find("__", at)) != std::string::npos; at += 4) {
    text.replace(at, 2, R"(\_\_)");
  }
  return text;
}

std::string confidence_text(const Explanation& explanation) {
  return fmt::format("Confidence: {}; {}.\n", name_of(explanation.confidence), explanation.reason);
}

}  // namespace

std::string full_text(const Explanation& explanation, std::size_t width) {
  std::string text;
  if (!explanation.verdict.empty()) {
    text += report::indented("", sentence(explanation.verdict, explanation.verdict), width) + "\n";
  }
  if (explanation.causes.empty()) {
    text += report::indented(
        "",
        explanation.confidence == Confidence::kNone && explanation.oddities.empty()
            ? fmt::format("Nothing in {} shows a failure that muster knows.",
                          lines_text(explanation.lines))
            : fmt::format("muster does not know the cause: nothing in {} names one.",
                          lines_text(explanation.lines)),
        width);
  } else {
    text += cause_text(explanation.causes.front(), width);
    text += "\n" + report::indented("", confidence_text(explanation), width);
  }
  const std::size_t count = std::min(explanation.causes.size(), kMostCauses);
  for (std::size_t i = 1; i < count; ++i) {
    if (i == 1) text += "\nAlso possible:\n\n";
    text += cause_text(explanation.causes[i], width);
  }
  if (explanation.causes.size() > count) {
    text +=
        fmt::format("\n{} more; --json lists all of them.\n", explanation.causes.size() - count);
  }
  text += consequences_text(explanation.consequences, width);
  text += oddities_text(explanation.oddities, width);
  return text;
}

std::string handbook_text(const Failure& failure, std::size_t width) {
  const Values none;
  std::string text =
      report::indented("", sentence(filled(failure.title, none), failure.title), width);
  text += row("id", failure.id, width);
  text += row("kind", name_of(failure.kind), width);
  text += row("symptom", catalogue::title_of(failure.symptom), width);
  text += row("seen in", failure.seen_in, width);
  text += row("meaning", filled(failure.meaning, none), width);
  text += steps("to prove", failure.prove, none, width);
  text += steps("to fix", failure.fix, none, width);
  for (const std::string& pattern : failure.patterns) {
    text +=
        fmt::format("  {:<11}{}\n", &pattern == failure.patterns.data() ? "patterns" : "", pattern);
  }
  for (const std::string& source : failure.sources) {
    text += row(&source == failure.sources.data() ? "sources" : "", source, width);
  }
  return text;
}

std::string list_text(const std::vector<Failure>& failures) {
  std::size_t widest = 0;
  for (const Failure& failure : failures) widest = std::max(widest, failure.id.size());
  std::string text;
  for (const catalogue::Symptom symptom : catalogue::all_symptoms()) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", catalogue::title_of(symptom));
    for (const Failure& failure : failures) {
      if (failure.symptom != symptom) continue;
      text += fmt::format("  {:<{}}  {}\n", failure.id, widest, filled(failure.title, {}));
    }
  }
  return text;
}

std::string troubleshooting_page(const std::vector<Failure>& failures) {
  std::string page =
      "# Troubleshooting\n\n"
      "What can go wrong with a distributed job, by what you notice first. `muster explain` finds "
      "these failures in\n"
      "the logs of a run, or of any other launcher, as far as logs show them, and `muster explain "
      "ID` shows the entry with "
      "its sources.\n"
      "Words in capitals, such as HOST, stand for values that `muster explain` takes from the "
      "log.\n\n"
      "This page was generated by `muster explain --list --markdown`.\n";
  for (const catalogue::Symptom symptom : catalogue::all_symptoms()) {
    page += fmt::format("\n## {}\n", catalogue::title_of(symptom));
    for (const Failure& failure : failures) {
      if (failure.symptom != symptom || failure.kind != catalogue::Kind::kCause) continue;
      page += fmt::format("\n### {}\n\n`{}` ({})\n\n{}\n",
                          markdown_heading(sentence(filled(failure.title, {}), failure.title)),
                          failure.id, failure.seen_in, filled(failure.meaning, {}));
      const auto add = [&](const char* name, const std::vector<std::string>& list) {
        if (list.empty()) return;
        page += fmt::format("\n{}:\n\n", name);
        for (const std::string& step : list) {
          const std::string words = filled(step, {});
          page += words.starts_with("$ ") ? fmt::format("- `{}`\n", words.substr(2))
                                          : fmt::format("- {}\n", sentence(words, step));
        }
      };
      add("To prove it", failure.prove);
      add("To fix it", failure.fix);
    }
  }
  return page;
}

}  // namespace muster::explain
