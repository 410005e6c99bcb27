#ifndef CTIFF_READER_H
#define CTIFF_READER_H

#include "CTIFF.h"
#include "library.h"
#include "pixels.h"

// Planes that are kept to convert them: at most four colours and opacity; and one that receives all others.
enum { MOST_PLANES = 6 };

// The tags of a page that decide how its samples make pixels.
typedef struct {
  uint16_t bits, samples, format, planar, compression, ink_set, extra_samples;
  int32_t photometric;    // -1: missing
  int32_t alpha;          // the index of the sample with opacity; -1: none
  bool is_premultiplied;
} Tags;

struct CTIFFReader {
  TIFF *tiff;
  const uint8_t *bytes;
  uint64_t count, position;
  bool is_complete;
  uint64_t deadline;
  CTIFFReport report;
  bool has_failed;       // libtiff has reported an error
  bool reports_warnings; // those about pixels; tags have many that don't matter
  bool reads_directory;
  uint64_t directory_bytes;  // read for the current page's directory
  // The current page.
  uint32_t number;           // from 1
  uint32_t width, height;
  Tags tags;
  uint64_t memory;           // an estimate of what it takes
  bool is_tiled;
  uint32_t chunk_width, chunk_height;  // of a strip or tile
  uint16_t planes;                     // separate ones; 1: all samples are in one
  tmsize_t chunk_bytes, row_bytes;     // of one plane
  Layout layout;
  uint8_t *planes_bytes[MOST_PLANES];
  Scratch scratch;
};

// Callbacks for TIFFClientOpenExt.
tmsize_t ctiff_on_read(thandle_t reader, void *to, tmsize_t count);
tmsize_t ctiff_on_write(thandle_t reader, void *from, tmsize_t count);
toff_t ctiff_on_seek(thandle_t reader, toff_t offset, int whence);
int ctiff_on_close(thandle_t reader);
toff_t ctiff_on_size(thandle_t reader);
int ctiff_on_error(TIFF *tiff, void *reader, const char *module, const char *format, va_list arguments);
int ctiff_on_warning(TIFF *tiff, void *reader, const char *module, const char *format, va_list arguments);

// Records a message unless there is one already, and returns the status.
CCodecStatus ctiff_fail(CTIFFReader *reader, CCodecStatus status, const char *format, ...) __attribute__((__format__(__printf__, 3, 4)));

// The most bytes that a directory and its values may have: values may share bytes, but a small file must not fill the memory by that.
static inline uint64_t ctiff_most_directory_bytes(const CTIFFReader *reader) { return 2 * reader->count + (64 << 10); }

static inline uint64_t ctiff_rounded_up(uint64_t number, uint64_t divisor) { return (number + divisor - 1) / divisor; }

// Frees the memory for strips or tiles.
void ctiff_free_page(CTIFFReader *reader);

// Determines the layout of the current page by its tags.
CCodecStatus ctiff_read_layout(CTIFFReader *reader);

#endif
