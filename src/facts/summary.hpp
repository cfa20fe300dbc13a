// Facts for people.
#pragma once

#include <string>

#include "facts/facts.hpp"

namespace muster::facts {

// "port", "loopback", ...: the words of the JSON form too.
[[nodiscard]] const char* to_text(InterfaceKind kind);

// Some twenty lines, fit for a terminal; ends with a newline.
[[nodiscard]] std::string summary(const Facts& facts);

}  // namespace muster::facts
