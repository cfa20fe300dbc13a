// Debian offers {fmt} as a shared library or header-only. muster is linked statically, so it uses
// the headers and compiles {fmt}'s code here once, not again in every file that formats.
#include <fmt/format-inl.h>

template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(
    fmt::detail::locale_ref);
