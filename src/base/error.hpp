// How the muster command, unlike the training side, reports failure: as a value, never as an
// exception. All modules use what is in base, so its names are directly in the namespace `muster`.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace muster {

// The kind of failure. Only cli/main.cpp turns it into an exit code.
enum class ErrorCode {
  kUsage,          // wrong flags, files or host lists
  kFindings,       // the checks found an error, so the job cannot start
  kUnreachable,    // a host could not be reached or refused the login
  kEngineMissing,  // a program that muster needs is not installed
  kTimeout,        // a deadline passed
  kSystem,         // the operating system refused something, e.g. to start a process
};

// Where the failure happened. Unknown fields are empty.
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

// Returns "hosts.txt:3:7: no host name before ':'", followed by the cause and the hint on their own
// lines if there are any. No trailing newline.
std::string to_text(const Error& error);

// Makes an Error for a failed system call. Reads errno, so call it before anything that may change
// errno.
Error system_error(std::string what, std::string file = {});

// Makes a new Error that says what `error` prevented, with `error` as its cause.
Error because(Error error, std::string what);

}  // namespace muster

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses
// MUSTER_TRY(auto text, read_file(path)); assigns the value, or returns the Error from the
// function.
#define MUSTER_TRY_NAME_(a, b) a##b
#define MUSTER_TRY_NAME(a, b) MUSTER_TRY_NAME_(a, b)
#define MUSTER_TRY_(result, declaration, expression)                                      \
  auto result = (expression);                                                             \
  if (!(result)) return ::muster::unexpected<::muster::Error>(std::move(result).error()); \
  declaration = *std::move(result)
#define MUSTER_TRY(declaration, expression) \
  MUSTER_TRY_(MUSTER_TRY_NAME(try_result_, __LINE__), declaration, expression)
// NOLINTEND(bugprone-macro-parentheses)
// Like MUSTER_TRY, for results that are void or not needed.
#define MUSTER_CHECK(expression)                                                      \
  do {                                                                                \
    if (auto check_result_ = (expression); !check_result_)                            \
      return ::muster::unexpected<::muster::Error>(std::move(check_result_).error()); \
  } while (false)
