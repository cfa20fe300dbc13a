#include "explain/traceback.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace muster::explain {
namespace {

// Longer ones, such as those of endless recursion, lose their middle.
constexpr std::size_t kMostFrames = 200;
constexpr int kMostLines = 5000;
constexpr std::size_t kMostOrigins = 20'000;

constexpr std::string_view kBegin = "Traceback (most recent call last):";
constexpr std::string_view kDirectCause =
    "The above exception was the direct cause of the following exception:";
constexpr std::string_view kWhileHandling =
    "During handling of the above exception, another exception occurred:";

// '  File "train.py", line 57, in load_shard'
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
  Frame frame{.file = std::string(text.substr(0, end)), .function = {}};
  text.remove_prefix(end + kLine.size());
  const auto [stop, bad] = std::from_chars(text.data(), text.data() + text.size(), frame.line);
  if (bad != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  constexpr std::string_view kIn = ", in ";
  if (text.starts_with(kIn)) frame.function = std::string(text.substr(kIn.size()));
  return frame;
}

// "torch.cuda.OutOfMemoryError: CUDA out of memory" begins with a dotted name.
bool is_exception(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  if (name.empty() || name.size() > 128 || name.front() == ' ' || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  });
}

Exception exception_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  Exception exception{.type = std::string(name.substr(name.rfind('.') + 1)), .message = {}};
  if (colon != std::string_view::npos) {
    exception.message = std::string(text.substr(colon + 1));
    exception.message.erase(
        0, std::min(exception.message.find_first_not_of(' '), exception.message.size()));
  }
  return exception;
}

}  // namespace

std::string headline(const Exception& exception) {
  return exception.message.empty() ? exception.type : exception.type + ": " + exception.message;
}

bool is_users_file(std::string_view file) {
  constexpr std::array kForeign = {
      std::string_view("/site-packages/"), std::string_view("/dist-packages/"),
      std::string_view("/lib/python3"), std::string_view("/lib64/python3"),
      std::string_view("<frozen ")};
  return std::none_of(kForeign.begin(), kForeign.end(), [&](std::string_view part) {
    return file.find(part) != std::string_view::npos;
  });
}

void Tracebacks::begin(const Origin& origin, std::size_t indent) {
  if (open_.size() >= kMostOrigins) open_.clear();
  Open open{.indent = indent, .frames = {}, .before = {}};
  if (const auto chained = chained_.extract(origin)) open.before = std::move(chained.mapped());
  open_[origin] = std::move(open);
}

// What follows an exception: blank lines, then perhaps the announcement of one chained to it.
std::optional<Exception> Tracebacks::after_end(const Origin& origin, std::string_view text) {
  const auto found = ended_.find(origin);
  if (found == ended_.end() || text.find_first_not_of(' ') == std::string_view::npos) {
    return std::nullopt;
  }
  Exception exception = std::move(found->second);
  ended_.erase(found);
  if (text.find(kDirectCause) == std::string_view::npos &&
      text.find(kWhileHandling) == std::string_view::npos) {
    return exception;
  }
  chained_[origin] = exception.before.empty() ? headline(exception) : std::move(exception.before);
  return std::nullopt;
}

void Tracebacks::end(const Origin& origin, std::string_view text, std::uint64_t line) {
  auto open = std::move(open_.extract(origin).mapped());
  Exception exception = exception_of(text);
  exception.origin = origin;
  exception.line = line;
  const auto users = std::find_if(open.frames.rbegin(), open.frames.rend(),
                                  [](const Frame& one) { return is_users_file(one.file); });
  exception.is_users = users != open.frames.rend();
  if (exception.is_users) {
    exception.frame = *users;
  } else if (!open.frames.empty()) {
    exception.frame = open.frames.back();
  }
  exception.before = std::move(open.before);
  if (ended_.size() >= kMostOrigins) ended_.clear();
  ended_[origin] = std::move(exception);
}

std::optional<Exception> Tracebacks::take(const Origin& origin, std::string_view text,
                                          std::uint64_t line) {
  auto complete = after_end(origin, text);
  if (const std::size_t at = text.find(kBegin); at != std::string_view::npos) {
    begin(origin, at);
    return complete;
  }
  const auto found = open_.find(origin);
  if (found == open_.end()) return complete;
  Open& open = found->second;
  if (++open.lines > kMostLines) {
    open_.erase(found);
    return complete;
  }
  // What is printed in front of the traceback, such as a time, is in front of its lines too.
  const std::string_view own = text.size() > open.indent ? text.substr(open.indent) : text;
  if (auto frame = frame_of(own)) {
    if (open.frames.size() < kMostFrames) open.frames.push_back(*std::move(frame));
    return complete;
  }
  // Source code is indented. Other lines may come from another process.
  if (!own.empty() && own.front() != ' ' && is_exception(own)) end(origin, own, line);
  return complete;
}

std::vector<Exception> Tracebacks::rest() {
  std::vector<Exception> exceptions;
  for (auto& [origin, exception] : ended_) exceptions.push_back(std::move(exception));
  ended_.clear();
  return exceptions;
}

}  // namespace muster::explain
