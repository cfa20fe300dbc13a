#include "base/error.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace muster {
namespace {

std::string place(const Where& where) {
  std::string text;
  if (!where.host.empty()) text += where.host + ": ";
  if (where.file.empty()) return text;
  text += where.file;
  if (where.line > 0) text += fmt::format(":{}", where.line);
  if (where.line > 0 && where.column > 0) text += fmt::format(":{}", where.column);
  return text + ": ";
}

}  // namespace

std::string to_text(const Error& error) {
  std::string text = place(error.where) + error.what;
  if (!error.where.command.empty()) text += fmt::format("\n  command: {}", error.where.command);
  for (const Error* cause = error.cause.get(); cause != nullptr; cause = cause->cause.get()) {
    text += fmt::format("\n  because: {}{}", place(cause->where), cause->what);
    if (!cause->hint.empty()) text += fmt::format("\n  hint: {}", cause->hint);
  }
  if (!error.hint.empty()) text += fmt::format("\n  hint: {}", error.hint);
  return text;
}

Error system_error(std::string what, std::string file) {
  const int number = errno;
  Error error{.code = ErrorCode::kSystem, .what = std::move(what)};
  error.what += ": " + std::generic_category().message(number);
  error.where.file = std::move(file);
  return error;
}

Error because(Error error, std::string what) {
  Error outer{.code = error.code, .what = std::move(what)};
  outer.cause = std::make_shared<const Error>(std::move(error));
  return outer;
}

}  // namespace muster
