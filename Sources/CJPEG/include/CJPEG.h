#ifndef CJPEG_H
#define CJPEG_H

// libjpeg-turbo behind calls that each begin and end in C, since libjpeg reports errors by longjmp, which must not cross Swift
// frames. A call returns a status; the report has the library's message.

#include <CCodec.h>
#include <stddef.h>
#include <stdint.h>

// The expected properties of the file, from its header, which the caller has already checked against its limits.
typedef struct {
  unsigned width, height;
  unsigned maximum_scans;
  unsigned eighths;   // 1…8: the size of the pixels, in eighths of the picture's size, rounded up
  uint64_t deadline;  // of CLOCK_THREAD_CPUTIME_ID, in nanoseconds; 0: none
} CJPEGExpectation;

// MARK: Reading a whole file

// A file that is being read. After a failed call, it may only be destroyed.
typedef struct CJPEGReader CJPEGReader;

// NULL if there is no memory. The bytes are borrowed until the reader is destroyed.
CJPEGReader *cjpeg_reader_create(const uint8_t *bytes, size_t count, CJPEGExpectation expected);
void cjpeg_reader_destroy(CJPEGReader *reader);
const CCodecReport *cjpeg_reader_report(const CJPEGReader *reader);

// Reads up to the first row; if there are several scans, reads all of them.
CCodecStatus cjpeg_reader_start(CJPEGReader *reader);

// The next `count` rows, RGBA without padding.
CCodecStatus cjpeg_reader_read(CJPEGReader *reader, uint8_t *rows, unsigned count);

// Reads the remaining entropy-coded data without keeping pixels.
CCodecStatus cjpeg_reader_skip(CJPEGReader *reader);

// Reads the data after the last row.
CCodecStatus cjpeg_reader_finish(CJPEGReader *reader);

// MARK: Reading an arriving file

// A file that is arriving. After a failed call, it may only be destroyed.
typedef struct CJPEGProgressive CJPEGProgressive;

// NULL if there is no memory. `expected.eighths` and `expected.deadline` are ignored.
CJPEGProgressive *cjpeg_progressive_create(CJPEGExpectation expected);
void cjpeg_progressive_destroy(CJPEGProgressive *progressive);
const CCodecReport *cjpeg_progressive_report(const CJPEGProgressive *progressive);

// Appends the next bytes of the file and decodes them.
CCodecStatus cjpeg_progressive_append(CJPEGProgressive *progressive, const uint8_t *bytes, size_t count, uint64_t deadline);

// Updates `pixels`, RGBA of the whole picture, to the decoded state: the available rows of the first scan, later each complete scan.
// `pixels` must be as the last call left them. Sets `changed` to whether anything was written.
CCodecStatus cjpeg_progressive_draw(CJPEGProgressive *progressive, uint8_t *pixels, int *changed, uint64_t deadline);

// MARK: Writing

typedef struct {
  unsigned width, height;
  int quality;           // 1…100
  int subsamples;        // whether chroma is halved in both directions (4:2:0)
  size_t maximum_bytes;  // CCODEC_TOO_LARGE as soon as the file is longer
} CJPEGEncoding;

// Writes a baseline file of RGBA pixels, flattened onto white. The caller must free `*bytes`, which is NULL after a failure.
CCodecStatus cjpeg_encode(const uint8_t *pixels, CJPEGEncoding encoding, uint8_t **bytes, size_t *count, CCodecReport *report);

#endif
