#ifndef CJPEG_FAILURES_H
#define CJPEG_FAILURES_H

#include "CJPEG.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>

// libjpeg's error manager, its messages, and the status. The manager comes first, so that a pointer to it is a pointer to the whole
// struct.
typedef struct {
  struct jpeg_error_mgr manager;
  jmp_buf escape;
  CCodecStatus status;
  CCodecReport report;
  int file_ended;     // libjpeg reached the end of the bytes and inserted an end marker
  uint64_t deadline;  // of CLOCK_THREAD_CPUTIME_ID, in nanoseconds; 0: none
} Failures;

static inline Failures *failures_of(j_common_ptr jpeg) { return (Failures *)jpeg->err; }

// Initialises `failures`, which must be zeroed.
struct jpeg_error_mgr *cjpeg_failures_begin(Failures *failures);

// Jumps to `escape`.
_Noreturn void cjpeg_fail(j_common_ptr jpeg, CCodecStatus status, const char *message);
// The file is cut off, or its data ends early: says which part of the picture is missing.
_Noreturn void cjpeg_fail_as_incomplete(j_decompress_ptr jpeg);
void cjpeg_fail_if_late(j_common_ptr jpeg);

// Adds a warning if the file has no end marker.
void cjpeg_warn_if_file_ended(j_decompress_ptr jpeg);

#endif
