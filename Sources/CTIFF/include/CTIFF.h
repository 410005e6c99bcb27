#ifndef CTIFF_H
#define CTIFF_H

// libtiff behind a reader of pages, loaded with the first image that needs it: with its codecs it takes 6 MB, which most runs don't
// need. It is in C, since libtiff's functions for tags are variadic, which Swift can't call.

// Without the trait LoadedFormats nothing uses this module, but SwiftPM compiles it; libtiff's headers aren't needed then.
#if __has_include(<tiffio.h>)

#include <CLoading.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CTIFF_LIBRARY CLOADING_FILE("tiff", "6")
#define CTIFF_PACKAGE "libtiff6"

// Loads libtiff on the first call. False if it isn't installed or too old.
bool ctiff_is_loaded(void);

// The reason why `ctiff_is_loaded` is false.
const char *_Nonnull ctiff_error(void);

typedef struct {
  CCodecReport texts;
  // The range that was read beyond the end of the bytes, up to the last that failed; 0 if none was.
  uint64_t missing_start, missing_end;
} CTIFFReport;

// A page as its directory describes it.
typedef struct {
  uint32_t width, height;
  int32_t photometric;  // PhotometricInterpretation; -1: missing
  bool has_alpha;
  const void *_Nullable profile;  // of the library, until the next page is read
  uint32_t profile_bytes;
  uint64_t memory;         // an estimate of what decoding it takes besides pixels, in bytes
  // Its rows are decoded in bands: each one strip, or all tiles side by side.
  uint32_t bands;
  uint32_t rows_per_band;  // except for the last one, which has the remaining rows
} CTIFFPage;

// A file that is being read. After a failed call, it may only be destroyed.
typedef struct CTIFFReader CTIFFReader;

// NULL if there is no memory; the next call fails if the file's header is invalid. The bytes, those of a complete file or else its
// first ones, are borrowed until the reader is destroyed. `deadline` is a time of CLOCK_THREAD_CPUTIME_ID in nanoseconds; 0: none. No
// allocation may have more than `most_bytes`.
CTIFFReader *_Nullable ctiff_reader_create(const uint8_t *_Nullable bytes, size_t count, bool is_complete, uint64_t most_bytes,
                                           uint64_t deadline);
void ctiff_reader_destroy(CTIFFReader *_Nonnull reader);
const CTIFFReport *_Nonnull ctiff_reader_report(const CTIFFReader *_Nonnull reader);

// Reads the directory of the next page.
CCodecStatus ctiff_reader_next_page(CTIFFReader *_Nonnull reader, CTIFFPage *_Nonnull page);

// Finds the end of the page's last strip or tile, 0 if none is known; of a complete file, all must be inside.
CCodecStatus ctiff_reader_find_end(CTIFFReader *_Nonnull reader, uint64_t *_Nonnull end);

// Prepares for the page's bands.
CCodecStatus ctiff_reader_begin_page(CTIFFReader *_Nonnull reader);

// Decodes a band of the page, all samples of it, and converts it to `rows`, RGBA without padding, not premultiplied, in the stored
// orientation; if `rows` is NULL, the pixels are dropped.
CCodecStatus ctiff_reader_read_band(CTIFFReader *_Nonnull reader, uint32_t band, uint8_t *_Nullable rows);

#endif

#endif
