#ifndef CPNG_FAILURES_H
#define CPNG_FAILURES_H

#include "CPNG.h"

#include <png.h>

// libpng's messages and the status, reached through its error pointer.
typedef struct {
  CCodecStatus status;
  CCodecReport report;
  uint64_t deadline;  // of CLOCK_THREAD_CPUTIME_ID, in nanoseconds; 0: none
} Failures;

// Handlers for png_create_read_struct and png_create_write_struct.
void cpng_on_error(png_structp png, png_const_charp message);
void cpng_on_warning(png_structp png, png_const_charp message);

// Jumps to png_jmpbuf.
_Noreturn void cpng_fail(png_structp png, CCodecStatus status, const char *message);
void cpng_fail_if_late(png_structp png);

// The number of rows between checks of the deadline.
enum { ROWS_PER_CHECK = 64 };

#endif
