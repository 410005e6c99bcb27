#ifndef CTIFF_READER_H
#define CTIFF_READER_H

#include "CTIFF.h"
#include "library.h"
#include "pixels.h"

// Planes that are kept to convert them: at most four colours and opacity; and one that receives all others.
enum { MOST_PLANES = 6 };

struct CTIFFReader {
  TIFF *tiff;
  const uint8_t *bytes;
  uint64_t count, position;
  uint64_t deadline;
  CTIFFReport report;
  bool has_failed;       // libtiff has reported an error
  bool reports_warnings; // those about pixels; tags have many that don't matter
  // The current page.
  uint32_t width, height;
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
CTIFFStatus ctiff_fail(CTIFFReader *reader, CTIFFStatus status, const char *format, ...) __attribute__((__format__(__printf__, 3, 4)));

// Determines the layout of the current page.
CTIFFStatus ctiff_read_layout(CTIFFReader *reader, CTIFFExpectation expected);

#endif
