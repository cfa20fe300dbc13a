#include "cli/flag_words.hpp"

#include <algorithm>

#include "cli/run_options.hpp"

namespace muster::cli {
namespace {

// A flag as it was typed, including its value: {"-n", "4"}, {"-n4"} or {"--np=4"}.
struct Typed {
  const Flag* flag = nullptr;  // null: not in the table, or not a flag
  Words words;
};

bool is_short(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word[1] != '-';
}

// Splits "-qdn4" into "-q", "-d" and "-n4".
Words spelled_out(const std::string& word) {
  Words flags;
  for (std::size_t i = 1; is_short(word) && i < word.size(); ++i) {
    const Flag* flag = find_flag(std::string("-") + word[i]);
    const bool is_last = flag == nullptr || flag->takes_value() || word.find('=', i) == i + 1;
    if (is_last) {
      flags.push_back("-" + word.substr(i));
      return flags;
    }
    flags.push_back(std::string("-") + word[i]);
  }
  return flags.empty() ? Words{word} : flags;
}

const Flag* flag_in(const std::string& word) {
  return find_flag(is_short(word) ? word.substr(0, 2) : word.substr(0, word.find('=')));
}

bool has_value_inside(const std::string& word) {
  return is_short(word) ? word.size() > 2 : word.find('=') != std::string::npos;
}

std::vector<Typed> cut(const Words& words) {
  std::vector<Typed> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::string& word : spelled_out(words[i])) {
      all.push_back({.flag = flag_in(word), .words = {std::move(word)}});
    }
    Typed& last = all.back();
    const bool wants_next =
        last.flag != nullptr && last.flag->takes_value() && !has_value_inside(last.words.front());
    if (wants_next && i + 1 < words.size()) last.words.push_back(words[++i]);
  }
  return all;
}

void hide_secret(Typed& typed) {
  if (typed.flag == nullptr || !typed.flag->secret) return;
  std::string& word = typed.words.back();
  const std::size_t value = typed.words.size() == 1 ? *find_secret(word) : 0;
  if (const std::size_t end = word.find('=', value); end != std::string::npos) word.resize(end);
}

template <typename Wanted>
Words chosen(const std::vector<Typed>& all, Wanted wanted) {
  Words words;
  for (const Typed& typed : all) {
    if (wanted(typed)) words.insert(words.end(), typed.words.begin(), typed.words.end());
  }
  return words;
}

std::vector<Typed> cut_without_secrets(const Words& words) {
  std::vector<Typed> all = cut(words);
  for (Typed& typed : all) hide_secret(typed);
  return all;
}

}  // namespace

const Flag* find_flag(std::string_view spelling) {
  if (!spelling.starts_with('-')) return nullptr;
  for (const Flag& flag : run_flags()) {
    const Words names = split(flag.names, ',');
    if (std::find(names.begin(), names.end(), spelling) != names.end()) return &flag;
  }
  return nullptr;
}

std::optional<std::size_t> find_secret(const std::string& word) {
  const std::string last = spelled_out(word).back();
  const Flag* flag = flag_in(last);
  if (flag == nullptr || !flag->secret) return std::nullopt;
  if (!has_value_inside(last)) return word.size();
  const std::size_t at = word.size() - last.size() + (is_short(last) ? 2 : last.find('=') + 1);
  return word[at] == '=' ? at + 1 : at;  // for -x=NAME=value
}

std::string_view long_name(const Flag& flag) {
  const std::string_view from = flag.names.substr(flag.names.find("--"));
  return from.substr(0, from.find(','));
}

Words without_secrets(const Words& words) {
  return chosen(cut_without_secrets(words), [](const Typed&) { return true; });
}

Words kept_words(const Words& words) {
  return chosen(cut_without_secrets(words),
                [](const Typed& typed) { return typed.flag == nullptr || typed.flag->kept; });
}

Words slurm_job_words(const Words& words) {
  return chosen(cut_without_secrets(words), [](const Typed& typed) {
    return typed.flag == nullptr || typed.flag->in_slurm_job;
  });
}

Words again_words(const Words& stored, const Words& typed) {
  const std::vector<Typed> added = cut(typed);
  const auto is_replaced = [&](const Typed& old) {
    return std::any_of(added.begin(), added.end(), [&](const Typed& one) {
      return one.flag != nullptr && one.flag == old.flag;
    });
  };
  Words words =
      chosen(cut(kept_words(stored)), [&](const Typed& old) { return !is_replaced(old); });
  const Words more =
      chosen(added, [](const Typed& one) { return one.flag != nullptr && one.flag->beside_again; });
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace muster::cli
