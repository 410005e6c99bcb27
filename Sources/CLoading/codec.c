#include "CCodec.h"

#include <string.h>
#include <time.h>

void ccodec_warn(CCodecReport *report, const char *line) {
  char *lines = report->warnings;
  size_t used = strlen(lines), length = strlen(line);
  if (strstr(lines, line) != NULL || used + length + 2 > CCODEC_WARNINGS_BYTES) return;
  if (used > 0) lines[used++] = '\n';
  memcpy(lines + used, line, length + 1);
}

bool ccodec_is_late(uint64_t deadline) {
  struct timespec now;
  if (deadline == 0) return false;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec >= deadline;
}
