#ifndef CJPEG_FAILURES_H
#define CJPEG_FAILURES_H

#include "CJPEG.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>

// What libjpeg says on the way. Its own part comes first, so that a pointer to that is a pointer to all of this.
typedef struct {
  struct jpeg_error_mgr manager;
  jmp_buf escape;
  CJPEGStatus status;
  CJPEGReport report;
  int file_ended;     // libjpeg met the end of the bytes and went on with an end marker of its own
  uint64_t deadline;  // of CLOCK_THREAD_CPUTIME_ID, in nanoseconds; 0: never
} Failures;

static inline Failures *failures_of(j_common_ptr jpeg) { return (Failures *)jpeg->err; }

// Sets up; the rest has to be zero.
struct jpeg_error_mgr *cjpeg_failures_begin(Failures *failures);

// Leaves for `escape`.
_Noreturn void cjpeg_fail(j_common_ptr jpeg, CJPEGStatus status, const char *message);
_Noreturn void cjpeg_fail_as_cut(j_common_ptr jpeg);
void cjpeg_fail_if_late(j_common_ptr jpeg);

// Notes that the file has no end marker, where that is so.
void cjpeg_warn_if_file_ended(j_common_ptr jpeg);

#endif
