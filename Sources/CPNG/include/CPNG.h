#ifndef CPNG_H
#define CPNG_H

// Whole decode calls over libpng. libpng reports errors by longjmp, which may not cross Swift frames, so that each call here
// begins and ends in C and brings back a status and the library's own sentence.

#include <stddef.h>
#include <stdint.h>

typedef enum {
  CPNG_OK = 0,
  CPNG_UNDECODABLE,    // cut, corrupt, or against the specification
  CPNG_OUT_OF_MEMORY,
} CPNGStatus;

enum { CPNG_MESSAGE_BYTES = 256, CPNG_WARNINGS_BYTES = 1024 };

typedef struct {
  char message[CPNG_MESSAGE_BYTES];    // why it was refused
  char warnings[CPNG_WARNINGS_BYTES];  // what was odd: a line each, as many as fit
} CPNGReport;

// What is expected of the file, from a look at its header that the caller has had and has checked against its limits.
typedef struct {
  uint32_t width, height;
} CPNGExpectation;

// Decodes to RGBA, `width * 4` bytes a row without padding, into `pixels`, which holds `width * height * 4` bytes.
CPNGStatus cpng_decode(const uint8_t *bytes, size_t count, CPNGExpectation expected, uint8_t *pixels, CPNGReport *report);

// Decodes every row, one at a time in the order they are stored, and keeps none.
CPNGStatus cpng_prove(const uint8_t *bytes, size_t count, CPNGExpectation expected, CPNGReport *report);

#endif
