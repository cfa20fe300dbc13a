/* Preloaded into munged: makes its clock an hour slow, like that of a host without time synchronisation. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
time_t time(time_t *where) {
  time_t (*real)(time_t *) = (time_t(*)(time_t *))dlsym(RTLD_NEXT, "time");
  time_t now = real(0) - 3600;
  if (where) *where = now;
  return now;
}
