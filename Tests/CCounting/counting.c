#include "CCounting.h"

// Builds for tests don't require valgrind.
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>

void counting_begin(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_TOGGLE_COLLECT;
}

void counting_end(const char *name) {
  CALLGRIND_TOGGLE_COLLECT;
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT(name);
}

#else

void counting_begin(void) {}
void counting_end(const char *name) { (void)name; }

#endif
