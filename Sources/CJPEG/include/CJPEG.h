#ifndef CJPEG_H
#define CJPEG_H

// Whole decode calls over libjpeg-turbo. libjpeg reports errors by longjmp, which may not cross Swift frames, so that each call
// here begins and ends in C and brings back a status and the library's own sentence.

#include <stddef.h>
#include <stdint.h>

typedef enum {
  CJPEG_OK = 0,
  CJPEG_UNDECODABLE,    // cut, corrupt, or a kind that libjpeg does not know
  CJPEG_OUT_OF_MEMORY,
} CJPEGStatus;

enum { CJPEG_MESSAGE_BYTES = 256, CJPEG_WARNINGS_BYTES = 1024 };

typedef struct {
  char message[CJPEG_MESSAGE_BYTES];    // why it was refused
  char warnings[CJPEG_WARNINGS_BYTES];  // what was odd: a line each, as many as fit
} CJPEGReport;

// What is expected of the file, from a look at its header that the caller has had and has checked against its limits.
typedef struct {
  unsigned width, height;
  unsigned maximum_scans;
} CJPEGExpectation;

// Decodes to RGBA, `width * 4` bytes a row without padding, into `pixels`, which holds `width * height * 4` bytes.
CJPEGStatus cjpeg_decode(const uint8_t *bytes, size_t count, CJPEGExpectation expected, uint8_t *pixels, CJPEGReport *report);

// Reads all entropy-coded data and keeps no pixel. A JPEG of one scan is read row by row; one of several needs its
// coefficients in memory.
CJPEGStatus cjpeg_prove(const uint8_t *bytes, size_t count, CJPEGExpectation expected, CJPEGReport *report);

#endif
