// Debian has fmt as a shared library or as headers only. Its code is compiled here once, for a
// static binary, instead of again in every file that formats.
#include <fmt/format-inl.h>

template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(
    fmt::detail::locale_ref);
