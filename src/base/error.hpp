// How the tool side reports failure: a value, never an exception. Names of base live in `muster`
// itself, because every module uses them.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace muster {

// What kind of failure; cli/main.cpp turns it into an exit code and nobody else does.
enum class ErrorCode {
  kUsage,          // the request itself makes no sense: flags, files, host lists
  kFindings,       // the checks found an error, so the job cannot start
  kUnreachable,    // a host could not be reached or refused us
  kEngineMissing,  // a program that muster drives is not installed
  kTimeout,        // a deadline passed
  kSystem,         // the operating system refused: file, process, permission
};

// Where it happened. Only what is known is set.
struct Where {
  std::string host;
  std::string file;
  int line = 0;    // 1-based; 0: unknown
  int column = 0;  // 1-based, in bytes; 0: unknown
  std::string command;
};

struct Error {
  ErrorCode code = ErrorCode::kSystem;
  std::string what;  // one sentence without a full stop, e.g. "cannot read the host file"
  Where where = {};
  std::string hint = {};  // what to do about it, possibly a command to paste
  std::shared_ptr<const Error> cause = nullptr;
};

template <class T>
using Result = tl::expected<T, Error>;

using tl::unexpected;

// "hosts.txt:3:7: no host name before ':'" and, where known, the cause and the hint on lines of
// their own. No trailing newline.
std::string to_text(const Error& error);

// An Error for a failed system call; reads errno, so call it first.
Error system_error(std::string what, std::string file = {});

// `error` as the cause of a new one that says what it prevented.
Error because(Error error, std::string what);

}  // namespace muster

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses
// Leaves the function with the Error, or binds the value: MUSTER_TRY(auto text, read_file(path));
#define MUSTER_TRY_NAME_(a, b) a##b
#define MUSTER_TRY_NAME(a, b) MUSTER_TRY_NAME_(a, b)
#define MUSTER_TRY_(result, declaration, expression)                                      \
  auto result = (expression);                                                             \
  if (!(result)) return ::muster::unexpected<::muster::Error>(std::move(result).error()); \
  declaration = *std::move(result)
#define MUSTER_TRY(declaration, expression) \
  MUSTER_TRY_(MUSTER_TRY_NAME(try_result_, __LINE__), declaration, expression)
// NOLINTEND(bugprone-macro-parentheses)
// The same where the value is void or not wanted.
#define MUSTER_CHECK(expression)                                                      \
  do {                                                                                \
    if (auto check_result_ = (expression); !check_result_)                            \
      return ::muster::unexpected<::muster::Error>(std::move(check_result_).error()); \
  } while (false)
