// The little of the ELF format that facts need. Files are hostile: every offset is checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::facts {

[[nodiscard]] bool is_elf(std::string_view file);

// The architecture that an ELF file of 64 bits is for, as `uname -m` names it; empty: it is none,
// or muster does not know its number.
[[nodiscard]] std::string_view elf_architecture(std::string_view file);

// The loader that a dynamic program asks for; nothing: a static program, or no ELF of 64 bits.
[[nodiscard]] std::optional<std::string> elf_interpreter(std::string_view file);

// The build-id that the linker wrote, in hexadecimal; empty: there is none. Cost: reads at most the
// first 64 KiB of each of 16 note segments.
[[nodiscard]] std::string elf_build_id(std::string_view file);

// The read-only data, where a compiler puts constant strings; the whole file where there is no
// section of that name.
[[nodiscard]] std::string_view elf_constants(std::string_view file);

}  // namespace muster::facts
