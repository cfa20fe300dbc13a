#include "explain/traceback.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "explain/ascii.hpp"

namespace muster::explain {
namespace {

constexpr int kMostLines = 5000;
constexpr int kMostOthers = 8;
constexpr std::size_t kMostOrigins = 4096;
// Longest text that is kept, because a log may be hostile.
constexpr std::size_t kLongestText = 400;
constexpr std::size_t kLongestFile = 400;
constexpr std::size_t kLongestPrefix = 200;

constexpr std::string_view kBegin = "Traceback (most recent call last):";
constexpr std::string_view kDirectCause =
    "The above exception was the direct cause of the following exception:";
constexpr std::string_view kWhileHandling =
    "During handling of the above exception, another exception occurred:";

// Parses '  File "train.py", line 57, in load_shard'.
std::optional<Frame> frame_of(std::string_view text) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos || !text.substr(start).starts_with(kFile)) {
    return std::nullopt;
  }
  text.remove_prefix(start + kFile.size());
  const std::size_t end = text.find(kLine);
  if (end == std::string_view::npos) return std::nullopt;
  Frame frame{.file = std::string(text.substr(0, std::min(end, kLongestFile))), .function = {}};
  text.remove_prefix(end + kLine.size());
  const auto [stop, bad] = std::from_chars(text.data(), text.data() + text.size(), frame.line);
  if (bad != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  constexpr std::string_view kIn = ", in ";
  if (text.starts_with(kIn)) frame.function = std::string(text.substr(kIn.size(), kLongestFile));
  return frame;
}

bool has_upper(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool has_lower(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// Whether the name ends like almost all names of exceptions, such as "OutOfMemoryError".
bool has_usual_ending(std::string_view name) {
  constexpr std::array kEndings = {"Error", "Exception", "Interrupt", "Exit", "Timeout"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](const char* ending) { return name.ends_with(ending); });
}

// Whether the line begins with the dotted name of an exception, as in "torch.cuda.OutOfMemoryError:
// CUDA out of memory". `is_certain` is false after lines that do not belong to the traceback. Then
// only a usual name counts, because "Epoch: 5" has the same form.
bool is_exception(std::string_view text, bool is_certain) {
  const std::string_view name = text.substr(0, text.find(':'));
  if (name.empty() || name.size() > 128 || (!is_letter(name.front()) && name.front() != '_') ||
      name.back() == '.') {
    return false;
  }
  const bool is_dotted_name = std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '_';
  });
  if (!is_dotted_name) return false;
  const std::string_view type = name.substr(name.rfind('.') + 1);
  const bool is_camel = type.front() >= 'A' && type.front() <= 'Z' && has_lower(type);
  // A type with its module, such as "socket.timeout".
  const bool is_of_module = type.size() < name.size() && !has_upper(name);
  return is_certain ? is_camel || is_of_module : is_camel && has_usual_ending(type);
}

std::string cut(std::string_view text) {
  return std::string(text.substr(0, kLongestText));
}

Exception exception_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  Exception exception{
      .type = cut(name.substr(name.rfind('.') + 1)), .message = {}, .said = cut(text)};
  if (colon != std::string_view::npos) {
    const std::string_view rest = text.substr(colon + 1);
    exception.message = cut(rest.substr(std::min(rest.find_first_not_of(' '), rest.size())));
  }
  return exception;
}

// Whether `text` is the message of an exception whose own line is only "RuntimeError:". Such a
// message is on the next line and indented.
bool begins_below_its_type(const Exception& exception, std::string_view text) {
  return exception.message.empty() && exception.said.find(':') != std::string::npos &&
         text.front() == ' ';
}

bool is_ignored(std::string_view text) {
  return text.starts_with("Exception ignored ") || text.starts_with("Error in atexit.") ||
         text.find("] Error waiting on exit barrier.") != std::string_view::npos;  // of torchrun
}

// Whether Python prints this line above a traceback that does not end the program.
bool announces(std::string_view text) {
  return is_ignored(text) || text.starts_with("Exception in thread ") ||
         (text.starts_with("Process ") && text.ends_with(":"));
}

// Whether the texts differ only in digits, as two times of day do.
bool is_alike(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char one, char other) {
    return one == other || (is_digit(one) && is_digit(other));
  });
}

// Makes room for one more entry, because a hostile log could contain any number of origins.
template <class Map>
void make_room(Map& map) {
  if (map.size() >= kMostOrigins) map.erase(map.begin());
}

}  // namespace

std::string headline(const Exception& exception) {
  return exception.message.empty() ? exception.type : exception.type + ": " + exception.message;
}

bool is_users_file(std::string_view file) {
  constexpr std::array kForeign = {
      std::string_view("/site-packages/"), std::string_view("/dist-packages/"),
      std::string_view("/lib/python3"), std::string_view("/lib64/python3"),
      std::string_view("/torchinductor_")};
  // Text that the user typed. Other names in angle brackets are generated code, such as "<frozen
  // runpy>" and "<eval_with_key>.5".
  constexpr std::array kTyped = {std::string_view("<stdin>"), std::string_view("<string>"),
                                 std::string_view("<ipython")};
  if (file.starts_with('<')) {
    return std::any_of(kTyped.begin(), kTyped.end(),
                       [&](std::string_view name) { return file.starts_with(name); });
  }
  // Launchers such as /opt/venv/bin/torchrun are Python scripts too.
  if (file.find("/bin/") != std::string_view::npos && !file.ends_with(".py")) return false;
  return std::none_of(kForeign.begin(), kForeign.end(), [&](std::string_view part) {
    return file.find(part) != std::string_view::npos;
  });
}

void Tracebacks::begin(const Origin& origin, std::string_view prefix) {
  make_room(open_);
  const auto announced = announced_.extract(origin);
  open_[origin] = {.prefix = std::string(prefix.substr(0, kLongestPrefix)),
                   .last = {},
                   .users = {},
                   .announced_by = announced ? announced.mapped() : ""};
}

// Handles the line after an exception, which may say that another exception is chained to it.
// Returns the exception if it is complete. Skips blank lines.
std::optional<Exception> Tracebacks::after_end(const Origin& origin, std::string_view text) {
  const auto found = ended_.find(origin);
  if (found == ended_.end() || text.find_first_not_of(' ') == std::string_view::npos) {
    return std::nullopt;
  }
  if (begins_below_its_type(found->second, text)) {
    found->second.message = cut(text.substr(text.find_first_not_of(' ')));
    found->second.said += found->second.message;
    return std::nullopt;
  }
  Exception exception = std::move(found->second);
  ended_.erase(found);
  if (text.find(kDirectCause) == std::string_view::npos &&
      text.find(kWhileHandling) == std::string_view::npos) {
    return exception;
  }
  make_room(chained_);
  chained_[origin] =
      exception.first ? exception.first : std::make_shared<const Exception>(std::move(exception));
  return std::nullopt;
}

void Tracebacks::end(const Origin& origin, std::string_view text, std::uint64_t line) {
  const Open open = std::move(open_.extract(origin).mapped());
  Exception exception = exception_of(text);
  exception.origin = origin;
  exception.line = line;
  exception.is_users = open.users.has_value();
  exception.frame = open.users ? *open.users : *open.last;
  exception.is_ignored = is_ignored(open.announced_by);
  exception.is_elsewhere = !open.announced_by.empty() && !exception.is_ignored;
  if (const auto chained = chained_.extract(origin)) exception.first = chained.mapped();
  make_room(ended_);
  ended_[origin] = std::move(exception);
}

void Tracebacks::take_line(const Origin& origin, std::string_view text, std::uint64_t line) {
  Open& open = open_.at(origin);
  std::string_view own = text;
  if (text.size() >= open.prefix.size() &&
      is_alike(text.substr(0, open.prefix.size()), open.prefix)) {
    own.remove_prefix(open.prefix.size());
  }
  if (auto frame = frame_of(own)) {
    if (is_users_file(frame->file)) open.users = *frame;
    open.last = *std::move(frame);
    return;
  }
  if (open.last && is_exception(own, open.others == 0)) return end(origin, own, line);
  if (own.empty() || own.front() == ' ') return;  // source code that belongs to the frame
  if (++open.others > kMostOthers) open_.erase(origin);
}

std::optional<Exception> Tracebacks::take(const Origin& origin, std::string_view text,
                                          std::uint64_t line) {
  auto complete = after_end(origin, text);
  if (const std::size_t at = text.find(kBegin); at != std::string_view::npos) {
    begin(origin, text.substr(0, at));
    return complete;
  }
  announced_.erase(origin);
  if (announces(text)) {
    make_room(announced_);
    announced_[origin] = cut(text);
  }
  const auto found = open_.find(origin);
  if (found == open_.end()) return complete;
  if (++found->second.lines > kMostLines) {
    open_.erase(found);
    return complete;
  }
  take_line(origin, text, line);
  return complete;
}

std::vector<Exception> Tracebacks::rest() {
  std::vector<Exception> exceptions;
  for (auto& [origin, exception] : ended_) exceptions.push_back(std::move(exception));
  ended_.clear();
  open_.clear();
  chained_.clear();
  announced_.clear();
  return exceptions;
}

}  // namespace muster::explain
