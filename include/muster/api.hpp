/// @file
/// The macro that marks everything that libmuster exports. All other symbols are hidden.
#pragma once

/// Exports a function or a class from the library.
#define MUSTER_API __attribute__((visibility("default")))
