#ifndef CPNG_FAILURES_H
#define CPNG_FAILURES_H

#include "CPNG.h"

#include <png.h>

// What libpng says on the way: its error pointer points here.
typedef struct {
  CPNGStatus status;
  CPNGReport report;
  uint64_t deadline;  // of CLOCK_THREAD_CPUTIME_ID, in nanoseconds; 0: never
} Failures;

// Handlers for png_create_read_struct and png_create_write_struct.
void cpng_on_error(png_structp png, png_const_charp message);
void cpng_on_warning(png_structp png, png_const_charp message);

void cpng_warn(Failures *failures, const char *line);

// Leaves for png_jmpbuf.
_Noreturn void cpng_fail(png_structp png, CPNGStatus status, const char *message);
void cpng_fail_if_late(png_structp png);

// Rows between two looks at the clock.
enum { ROWS_PER_LOOK = 64 };

#endif
