#include "muster/job.hpp"
