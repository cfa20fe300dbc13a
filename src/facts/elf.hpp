// The few parts of the ELF format that facts need. Files may be malicious, so every offset is
// checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::facts {

[[nodiscard]] bool is_elf(std::string_view file);

// The architecture for which a 64-bit ELF file was built, as `uname -m` names it. Empty for other
// files, and for architectures that muster does not know.
[[nodiscard]] std::string_view elf_architecture(std::string_view file);

// The loader that a dynamic program names; nothing for a static program or a file that is not
// 64-bit ELF.
[[nodiscard]] std::optional<std::string> elf_interpreter(std::string_view file);

// The build id that the linker wrote, in hexadecimal; empty if there is none. Cost: reads at most
// the first 64 KiB of each of 16 note segments.
[[nodiscard]] std::string elf_build_id(std::string_view file);

// The read-only data, which contains constant strings. If there is no such section, the whole file.
[[nodiscard]] std::string_view elf_constants(std::string_view file);

}  // namespace muster::facts
