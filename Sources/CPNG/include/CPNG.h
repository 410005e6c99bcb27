#ifndef CPNG_H
#define CPNG_H

// libpng behind calls that each begin and end in C: libpng reports errors by longjmp, which may not cross Swift frames. A call
// brings back a status; the library's own sentence is in the report.

#include <stddef.h>
#include <stdint.h>

typedef enum {
  CPNG_OK = 0,
  CPNG_UNDECODABLE,    // cut, corrupt, or against the specification
  CPNG_OUT_OF_MEMORY,
  CPNG_OUT_OF_TIME,
  CPNG_TOO_LARGE,      // an encoded file passed its limit
} CPNGStatus;

enum { CPNG_MESSAGE_BYTES = 256, CPNG_WARNINGS_BYTES = 1024 };

typedef struct {
  char message[CPNG_MESSAGE_BYTES];    // why it was refused
  char warnings[CPNG_WARNINGS_BYTES];  // what was odd: a line each, as many as fit
} CPNGReport;

// What is expected of the file, from a look at its header that the caller has had and has checked against its limits.
typedef struct {
  uint32_t width, height;
  uint64_t deadline;  // of CLOCK_THREAD_CPUTIME_ID, in nanoseconds; 0: never
} CPNGExpectation;

// MARK: Reading a whole file

// A file that is being read. After a call that failed, it may only be destroyed.
typedef struct CPNGReader CPNGReader;

// NULL where there is no memory. The bytes are borrowed until the reader is destroyed.
CPNGReader *cpng_reader_create(const uint8_t *bytes, size_t count, CPNGExpectation expected);
void cpng_reader_destroy(CPNGReader *reader);
const CPNGReport *cpng_reader_report(const CPNGReader *reader);

// Reads up to the first row.
CPNGStatus cpng_reader_start(CPNGReader *reader);

// The next `count` rows of a file without interlacing, RGBA without padding; of an interlaced one, all rows at once.
CPNGStatus cpng_reader_read(CPNGReader *reader, uint8_t *rows, uint32_t count);

// Decodes every row, one at a time in the order they are stored, and keeps none.
CPNGStatus cpng_reader_skip(CPNGReader *reader);

// Reads what is left behind the last row.
CPNGStatus cpng_reader_finish(CPNGReader *reader);

// MARK: Reading a file while it arrives

// A file that is arriving. After a call that failed, it may only be destroyed.
typedef struct CPNGProgressive CPNGProgressive;

// NULL where there is no memory. `expected.deadline` is not looked at.
CPNGProgressive *cpng_progressive_create(CPNGExpectation expected);
void cpng_progressive_destroy(CPNGProgressive *progressive);
const CPNGReport *cpng_progressive_report(const CPNGProgressive *progressive);

// Takes the next bytes of the file and draws what they bring: rows, or passes of an interlaced picture, whose pixels stand for
// their neighbours to come.
CPNGStatus cpng_progressive_append(CPNGProgressive *progressive, const uint8_t *bytes, size_t count, uint64_t deadline);

// RGBA of the whole picture as far as it is drawn, the rest transparent; NULL before its first row.
const uint8_t *cpng_progressive_pixels(const CPNGProgressive *progressive);

// Rows that were drawn until now, in all passes.
uint64_t cpng_progressive_drawn_rows(const CPNGProgressive *progressive);

// The content of the eXIf chunk that has arrived; NULL where there is none.
const uint8_t *cpng_progressive_exif(const CPNGProgressive *progressive, size_t *count);

// MARK: Writing

// Writes RGBA pixels: as grey, RGB, grey with alpha or RGBA, whatever is the least that holds them. `*bytes` is the caller's to
// free; NULL after a failure. CPNG_TOO_LARGE as soon as the file is longer than `maximum_bytes`.
CPNGStatus cpng_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t maximum_bytes,
    uint8_t **bytes, size_t *count, CPNGReport *report);

// MARK: Chunks

// The sum of a chunk's type and data (PNG specification, third edition, section 5.5).
uint32_t cpng_checksum(const uint8_t *bytes, size_t count);

// How many bytes a zlib stream unpacks to, as far as it is sound; more than `maximum` where counting stopped there. None is kept.
size_t cpng_unpacked_bytes(const uint8_t *bytes, size_t count, size_t maximum);

#endif
