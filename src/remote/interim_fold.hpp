// To be replaced by hosts::fold as soon as that exists; knows one run of digits at a name's end.
#pragma once

#include <span>
#include <string>

namespace muster::remote {

// n1, n2, n3, gw -> "n[1-3],gw"
[[nodiscard]] std::string interim_fold(std::span<const std::string> names);

}  // namespace muster::remote
