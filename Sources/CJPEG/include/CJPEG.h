#ifndef CJPEG_H
#define CJPEG_H

// libjpeg-turbo behind calls that each begin and end in C: libjpeg reports errors by longjmp, which may not cross Swift frames. A
// call brings back a status; the library's own sentence is in the report.

#include <stddef.h>
#include <stdint.h>

typedef enum {
  CJPEG_OK = 0,
  CJPEG_UNDECODABLE,    // cut, corrupt, or a kind that libjpeg does not know
  CJPEG_OUT_OF_MEMORY,
  CJPEG_OUT_OF_TIME,
  CJPEG_TOO_LARGE,      // an encoded file passed its limit
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
  unsigned eighths;   // 1…8: the size of the pixels, in eighths of the picture's, rounded up
  uint64_t deadline;  // of CLOCK_THREAD_CPUTIME_ID, in nanoseconds; 0: never
} CJPEGExpectation;

// MARK: Reading a whole file

// A file that is being read. After a call that failed, it may only be destroyed.
typedef struct CJPEGReader CJPEGReader;

// NULL where there is no memory. The bytes are borrowed until the reader is destroyed.
CJPEGReader *cjpeg_reader_create(const uint8_t *bytes, size_t count, CJPEGExpectation expected);
void cjpeg_reader_destroy(CJPEGReader *reader);
const CJPEGReport *cjpeg_reader_report(const CJPEGReader *reader);

// Reads up to the first row: of a file of several scans, all of them.
CJPEGStatus cjpeg_reader_start(CJPEGReader *reader);

// The next `count` rows, RGBA without padding.
CJPEGStatus cjpeg_reader_read(CJPEGReader *reader, uint8_t *rows, unsigned count);

// Reads all entropy-coded data that is left, and keeps no pixel.
CJPEGStatus cjpeg_reader_skip(CJPEGReader *reader);

// Reads what is left behind the last row.
CJPEGStatus cjpeg_reader_finish(CJPEGReader *reader);

// MARK: Reading a file while it arrives

// A file that is arriving. After a call that failed, it may only be destroyed.
typedef struct CJPEGProgressive CJPEGProgressive;

// NULL where there is no memory. `expected.eighths` and `expected.deadline` are not looked at.
CJPEGProgressive *cjpeg_progressive_create(CJPEGExpectation expected);
void cjpeg_progressive_destroy(CJPEGProgressive *progressive);
const CJPEGReport *cjpeg_progressive_report(const CJPEGProgressive *progressive);

// Takes the next bytes of the file and reads what they bring.
CJPEGStatus cjpeg_progressive_append(CJPEGProgressive *progressive, const uint8_t *bytes, size_t count, uint64_t deadline);

// Brings `pixels`, RGBA of the whole picture, up to what was read: of a first scan the rows that are there, later each scan that
// is whole. `pixels` has to be what the last call left. `changed` becomes whether anything was written.
CJPEGStatus cjpeg_progressive_draw(CJPEGProgressive *progressive, uint8_t *pixels, int *changed, uint64_t deadline);

// MARK: Writing

typedef struct {
  unsigned width, height;
  int quality;           // 1…100
  int subsamples;        // whether colour is halved along both sides (4:2:0)
  size_t maximum_bytes;  // CJPEG_TOO_LARGE as soon as the file is longer
} CJPEGEncoding;

// Writes a baseline file of RGBA pixels, which are laid on white. `*bytes` is the caller's to free; NULL after a failure.
CJPEGStatus cjpeg_encode(const uint8_t *pixels, CJPEGEncoding encoding, uint8_t **bytes, size_t *count, CJPEGReport *report);

#endif
