// What libmuster shows; everything else in it is hidden.
#pragma once

#define MUSTER_API __attribute__((visibility("default")))
