#include "base/exit_code.hpp"

#include "cli/command.hpp"

namespace muster::cli {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return kExitUsage;
    case ErrorCode::kFindings:
      return kExitRefused;
    case ErrorCode::kUnreachable:
      return kExitUnreachable;
    case ErrorCode::kEngineMissing:
      return kExitMissing;
    case ErrorCode::kTimeout:
      return kExitTimedOut;
    case ErrorCode::kSystem:
      return kExitOwnFault;
  }
  return kExitOwnFault;
}

}  // namespace muster::cli
