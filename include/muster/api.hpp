// What libmuster shows to programs; everything else in it is hidden.
#pragma once

#define MUSTER_API __attribute__((visibility("default")))
