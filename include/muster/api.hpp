/// @file
/// The mark of everything that libmuster exports; its other symbols are hidden.
#pragma once

/// Exports a function or a class from the library.
#define MUSTER_API __attribute__((visibility("default")))
