// Facts as text for people.
#pragma once

#include <string>

#include "facts/facts.hpp"

namespace muster::facts {

// Returns "port", "loopback" and so on, as in the JSON form.
[[nodiscard]] const char* to_text(InterfaceKind kind);

// About twenty lines for a terminal. Ends with a newline.
[[nodiscard]] std::string summary(const Facts& facts);

}  // namespace muster::facts
