#include "failures.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void append_line(char *lines, size_t capacity, const char *line) {
  size_t used = strlen(lines), length = strlen(line);
  if (strstr(lines, line) != NULL || used + length + 2 > capacity) return;
  if (used > 0) lines[used++] = '\n';
  memcpy(lines + used, line, length + 1);
}

void cpng_warn(Failures *failures, const char *line) { append_line(failures->report.warnings, CPNG_WARNINGS_BYTES, line); }

_Noreturn void cpng_fail(png_structp png, CPNGStatus status, const char *message) {
  Failures *failures = png_get_error_ptr(png);
  failures->status = status;
  snprintf(failures->report.message, CPNG_MESSAGE_BYTES, "%s", message);
  png_longjmp(png, 1);
}

void cpng_on_error(png_structp png, png_const_charp message) {
  cpng_fail(png, strcmp(message, "Out of memory") == 0 ? CPNG_OUT_OF_MEMORY : CPNG_UNDECODABLE, message);
}

void cpng_on_warning(png_structp png, png_const_charp message) { cpng_warn(png_get_error_ptr(png), message); }

void cpng_fail_if_late(png_structp png) {
  uint64_t deadline = ((Failures *)png_get_error_ptr(png))->deadline;
  if (deadline == 0) return;
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  if ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec >= deadline) cpng_fail(png, CPNG_OUT_OF_TIME, "too slow");
}
