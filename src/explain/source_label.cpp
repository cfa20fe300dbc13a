#include "explain/source_label.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/output_line.hpp"
#include "explain/ascii.hpp"

namespace muster::explain {
namespace {

constexpr std::size_t kLongestLabel = 96;
// If the number of ranks is unknown, N in "[host:N]" counts as a rank only below this limit. Larger
// numbers are PIDs.
constexpr int kLikelyRanks = 1024;

bool is_host(std::string_view text) {
  constexpr std::size_t kLongestHost = 128;
  return !text.empty() && text.size() <= kLongestHost &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
         });
}

std::optional<int> number_in(std::string_view text) {
  // A number with leading zeros is a padded PID.
  if (text.size() > 1 && text[0] == '0' && is_digit(text[1])) return std::nullopt;
  int number = 0;
  const auto [stop, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = bad == std::errc() && stop == text.data() + text.size() && number >= 0;
  return is_whole ? std::optional(number) : std::nullopt;
}

// Returns the first number of "3" or "0-31,40".
std::optional<int> first_number(std::string_view ranks) {
  const std::size_t end = std::min(ranks.find_first_of("-,"), ranks.size());
  const bool is_range = std::all_of(ranks.begin() + static_cast<std::ptrdiff_t>(end), ranks.end(),
                                    [](char c) { return is_digit(c) || c == '-' || c == ','; });
  return is_range ? number_in(ranks.substr(0, end)) : std::nullopt;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

// Takes the part in outer brackets, which may contain brackets too: "n[1-4]:0-31".
std::optional<std::string_view> take_brackets(std::string_view& text) {
  if (!text.starts_with('[')) return std::nullopt;
  int depth = 0;
  for (std::size_t at = 0; at < std::min(text.size(), kLongestLabel); ++at) {
    if (text[at] == '[') ++depth;
    if (text[at] == ']' && --depth == 0) {
      const std::string_view inside = text.substr(1, at - 1);
      text.remove_prefix(at + 1);
      return inside;
    }
  }
  return std::nullopt;
}

// Removes "[n1:3] " or "[n[1-4]:0-31] ", unless a report of Open MPI follows ("*** ").
bool peel_musters(std::string_view& line, int ranks, Origin& origin) {
  const auto label = take_label(line);
  if (!label || label->text.starts_with("***")) return false;
  const auto first = first_number(label->ranks);
  if (!first || *first >= (ranks > 0 ? ranks : kLikelyRanks)) return false;
  const bool is_folded = label->hosts.find('[') != std::string_view::npos;
  if (!is_folded && !is_host(label->hosts)) return false;
  // For a line that several ranks printed, no single rank is known.
  const int rank = number_in(label->ranks).value_or(-1);
  origin = {.host = is_folded ? "" : std::string(label->hosts), .rank = rank};
  line = label->text;
  return true;
}

// Returns the number in "rank3" or "default3". In torchrun's "default3" it is only the rank's
// number on its host.
std::optional<int> named_rank(std::string_view inside) {
  const auto digit = std::find_if(inside.begin(), inside.end(), is_digit);
  if (digit == inside.begin() || !std::all_of(inside.begin(), digit, is_letter)) {
    return std::nullopt;
  }
  return number_in(inside.substr(static_cast<std::size_t>(digit - inside.begin())));
}

bool peel_brackets(std::string_view& line, Origin& origin) {
  std::string_view rest = line;
  const auto inside = take_brackets(rest);
  if (!inside) return false;
  const std::size_t comma = inside->find(',');
  const auto done = [&] {
    line = rest;
    return true;
  };
  if (*inside == "engine" && take(rest, " ")) return done();
  if (comma != std::string_view::npos && (take(rest, "<stdout>:") || take(rest, "<stderr>:"))) {
    const auto rank = number_in(inside->substr(comma + 1));
    if (rank) origin.rank = *rank;
    (void)take(rest, " ");
    return done();
  }
  if (const auto rank = named_rank(*inside); rank && take(rest, ":")) {
    if (inside->starts_with("rank")) origin.rank = *rank;
    (void)take(rest, " ");
    return done();
  }
  if (!inside->empty() && std::all_of(inside->begin(), inside->end(), is_digit) &&
      !rest.starts_with("  ") && take(rest, " ")) {
    origin.rank = number_in(*inside).value_or(-1);
    return done();
  }
  if (inside->starts_with("pod/") && take(rest, " ")) {
    const std::string_view pod = inside->substr(4);
    const std::string_view name = pod.substr(0, pod.find('/'));
    if (!is_host(name)) return false;
    origin.host = std::string(name);
    return done();
  }
  return false;
}

// Whether the first word of a line looks like a host but is something else, as in "libmpi.so.40:
// cannot open", "python3: can't open file", "mlx5_0: link is down" or "epoch 3: ...".
bool is_no_host(std::string_view word) {
  constexpr std::array kBeginnings = {
      "python", "pip", "lib", "ib",   "eth",  "enp",   "eno",   "ens",  "bond", "mlx",  "rdmap",
      "bnxt",   "gpu", "GPU", "cuda", "CUDA", "epoch", "Epoch", "step", "Step", "line", "shard"};
  return word.find(".so") != std::string_view::npos ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](const char* beginning) { return word.starts_with(beginning); });
}

// Removes "3: ", "n1: " or "worker-1  | ". A word counts as a host only if it ends in a digit,
// because "Error: " is not a label.
bool peel_word(std::string_view& line, Origin& origin) {
  std::string_view rest = line;
  while (take(rest, " ")) {
  }
  const std::size_t end = rest.find_first_of(" :");
  if (end == std::string_view::npos || end == 0 || end > kLongestLabel) return false;
  const std::string_view word = rest.substr(0, end);
  if (!is_host(word) || !is_digit(word.back()) || is_no_host(word)) return false;
  rest.remove_prefix(end);
  const bool is_number = std::all_of(word.begin(), word.end(), is_digit);
  if (take(rest, ": ")) {
    if (is_number) {
      origin.rank = number_in(word).value_or(-1);
    } else {
      origin.host = std::string(word);
    }
    line = rest;
    return true;
  }
  if (is_number) return false;
  while (take(rest, " ")) {
  }
  if (!take(rest, "| ")) return false;
  origin.host = std::string(word);
  line = rest;
  return true;
}

}  // namespace

SplitLine split_labels(std::string_view line, int ranks) {
  SplitLine result{.origin = {}, .text = line};
  if (peel_musters(result.text, ranks, result.origin)) {
    // Remove a label of PyTorch behind muster's, but ignore its number: muster knows the rank, and
    // programs print other numbers in brackets.
    Origin of_program;
    (void)peel_brackets(result.text, of_program);
    return result;
  }
  constexpr int kMostLabels = 3;
  for (int i = 0; i < kMostLabels; ++i) {
    if (!peel_brackets(result.text, result.origin) && !peel_word(result.text, result.origin)) {
      break;
    }
  }
  return result;
}

}  // namespace muster::explain
