#ifndef CPNG_H
#define CPNG_H

// libpng behind calls that each begin and end in C, since libpng reports errors by longjmp, which must not cross Swift frames. A
// call returns a status; the report has the library's message.

#include <CCodec.h>
#include <stddef.h>
#include <stdint.h>

// The expected properties of the file, from its header, which the caller has already checked against its limits.
typedef struct {
  uint32_t width, height;
  uint64_t deadline;  // of CLOCK_THREAD_CPUTIME_ID, in nanoseconds; 0: none
} CPNGExpectation;

// MARK: Reading a whole file

// A file that is being read. After a failed call, it may only be destroyed.
typedef struct CPNGReader CPNGReader;

// NULL if there is no memory. The bytes are borrowed until the reader is destroyed.
CPNGReader *cpng_reader_create(const uint8_t *bytes, size_t count, CPNGExpectation expected);
void cpng_reader_destroy(CPNGReader *reader);
const CCodecReport *cpng_reader_report(const CPNGReader *reader);

// Reads up to the first row.
CCodecStatus cpng_reader_start(CPNGReader *reader);

// The next `count` rows of a file without interlacing, RGBA without padding; for an interlaced file, all rows at once.
CCodecStatus cpng_reader_read(CPNGReader *reader, uint8_t *rows, uint32_t count);

// Decodes every row in stored order without keeping any.
CCodecStatus cpng_reader_skip(CPNGReader *reader);

// Reads the data after the last row.
CCodecStatus cpng_reader_finish(CPNGReader *reader);

// MARK: Reading an arriving file

// A file that is arriving. After a failed call, it may only be destroyed.
typedef struct CPNGProgressive CPNGProgressive;

// NULL if there is no memory. `expected.deadline` is ignored.
CPNGProgressive *cpng_progressive_create(CPNGExpectation expected);
void cpng_progressive_destroy(CPNGProgressive *progressive);
const CCodecReport *cpng_progressive_report(const CPNGProgressive *progressive);

// Appends the next bytes of the file and draws them: rows, or passes of an interlaced picture, whose pixels also fill missing
// neighbours.
CCodecStatus cpng_progressive_append(CPNGProgressive *progressive, const uint8_t *bytes, size_t count, uint64_t deadline);

// RGBA of the whole picture as far as drawn, otherwise transparent; NULL before the first row.
const uint8_t *cpng_progressive_pixels(const CPNGProgressive *progressive);

// The number of rows drawn so far, in all passes.
uint64_t cpng_progressive_drawn_rows(const CPNGProgressive *progressive);

// The content of the eXIf chunk if it has arrived; otherwise NULL.
const uint8_t *cpng_progressive_exif(const CPNGProgressive *progressive, size_t *count);

// MARK: Writing

// Writes RGBA pixels as grey, RGB, grey with alpha or RGBA, whichever is the smallest that holds them. The caller must free
// `*bytes`, which is NULL after a failure. Returns CCODEC_TOO_LARGE as soon as the file exceeds `maximum_bytes`.
CCodecStatus cpng_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t maximum_bytes,
    uint8_t **bytes, size_t *count, CCodecReport *report);

// MARK: Chunks

// The checksum of a chunk's type and data (PNG specification, third edition, section 5.5).
uint32_t cpng_checksum(const uint8_t *bytes, size_t count);

// The decompressed size of the valid part of a zlib stream; more than `maximum` if counting stopped there. No data is kept.
size_t cpng_unpacked_bytes(const uint8_t *bytes, size_t count, size_t maximum);

#endif
