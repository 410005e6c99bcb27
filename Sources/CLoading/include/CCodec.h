#ifndef CCODEC_H
#define CCODEC_H

// What the C parts of coders share: the results of calls, their messages, and the deadline.

#include <stdbool.h>
#include <stdint.h>

typedef enum {
  CCODEC_OK = 0,
  CCODEC_UNDECODABLE,    // truncated, corrupt, in violation of the specification, or unsupported by the library
  CCODEC_TRUNCATED,      // a part isn't inside of the file
  CCODEC_UNSUPPORTED,    // a variant that can't be decoded or converted to RGBA; it may be good
  CCODEC_OUT_OF_MEMORY,
  CCODEC_OUT_OF_TIME,
  CCODEC_TOO_LARGE,      // needs more memory than allowed, or an encoded file exceeds its limit
} CCodecStatus;

enum { CCODEC_MESSAGE_BYTES = 512, CCODEC_WARNINGS_BYTES = 1024 };

typedef struct {
  char message[CCODEC_MESSAGE_BYTES];    // the error
  char warnings[CCODEC_WARNINGS_BYTES];  // one line each, as many as fit
} CCodecReport;

// Adds a line to the warnings unless it is among them.
void ccodec_warn(CCodecReport *report, const char *line);

// Whether a time of CLOCK_THREAD_CPUTIME_ID in nanoseconds has passed; 0 never does.
bool ccodec_is_late(uint64_t deadline);

#endif
