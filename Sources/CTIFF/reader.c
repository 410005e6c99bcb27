#include "CTIFF.h"

#if __has_include(<tiffio.h>)

#include "reader.h"

#include <stdlib.h>
#include <string.h>

CTIFFReader *ctiff_reader_create(const uint8_t *bytes, size_t count, bool is_complete, uint64_t most_bytes, uint64_t deadline) {
  CTIFFReader *reader = calloc(1, sizeof *reader);
  TIFFOpenOptions *options = ctiff_functions.TIFFOpenOptionsAlloc();
  if (reader != NULL && options != NULL) {
    reader->bytes = bytes;
    reader->count = count;
    reader->is_complete = is_complete;
    reader->deadline = deadline;
    ctiff_functions.TIFFOpenOptionsSetErrorHandlerExtR(options, ctiff_on_error, reader);
    ctiff_functions.TIFFOpenOptionsSetWarningHandlerExtR(options, ctiff_on_warning, reader);
    ctiff_functions.TIFFOpenOptionsSetMaxSingleMemAlloc(options, most_bytes < INT64_MAX ? (tmsize_t)most_bytes : INT64_MAX);
    // h: read only the header; m: no memory map; O: read positions and lengths of strips and tiles only when they are asked for.
    reader->tiff = ctiff_functions.TIFFClientOpenExt("TIFF", is_complete ? "rhm" : "rhmO", reader, ctiff_on_read, ctiff_on_write, ctiff_on_seek, ctiff_on_close,
                                                     ctiff_on_size, NULL, NULL, options);
  }
  if (options != NULL) ctiff_functions.TIFFOpenOptionsFree(options);
  return reader;
}

void ctiff_free_page(CTIFFReader *reader) {
  for (int index = 0; index < MOST_PLANES; index++) free(reader->planes_bytes[index]);
  for (size_t index = 0; index < sizeof reader->scratch.values / sizeof *reader->scratch.values; index++) {
    free(reader->scratch.values[index]);
  }
  memset(reader->planes_bytes, 0, sizeof reader->planes_bytes);
  memset(&reader->scratch, 0, sizeof reader->scratch);
}

void ctiff_reader_destroy(CTIFFReader *reader) {
  ctiff_free_page(reader);
  if (reader->tiff != NULL) ctiff_functions.TIFFClose(reader->tiff);
  free(reader);
}

const CTIFFReport *ctiff_reader_report(const CTIFFReader *reader) { return &reader->report; }

// The number of kept planes, each with the samples of one chunk.
static int kept_planes(const CTIFFReader *reader) {
  const Layout *layout = &reader->layout;
  if (!layout->is_separate) return 1;
  int kept = layout->colors + (layout->alpha >= 0 ? 1 : 0);
  return layout->samples > kept ? kept + 1 : kept;
}

// The kept plane that receives a sample's plane.
static int kept_plane(const CTIFFReader *reader, uint16_t plane) {
  const Layout *layout = &reader->layout;
  if (plane < layout->colors || !layout->is_separate) return plane;
  return plane == layout->alpha ? layout->colors : kept_planes(reader) - 1;
}

// Determines the size of strips or tiles, and checks that they hold their pixels.
static CCodecStatus measure_chunks(CTIFFReader *reader) {
  TIFF *tiff = reader->tiff;
  const Layout *layout = &reader->layout;
  reader->chunk_bytes = reader->is_tiled ? ctiff_functions.TIFFTileSize(tiff) : ctiff_functions.TIFFStripSize(tiff);
  reader->row_bytes = reader->is_tiled ? ctiff_functions.TIFFTileRowSize(tiff) : ctiff_functions.TIFFScanlineSize(tiff);
  reader->planes = layout->is_separate ? layout->samples : 1;
  if (reader->chunk_width == 0 || reader->chunk_height == 0 || reader->chunk_bytes <= 0 || reader->row_bytes <= 0) {
    return ctiff_fail(reader, CCODEC_UNDECODABLE, "strips or tiles without pixels");
  }
  uint64_t needed = ctiff_rounded_up((uint64_t)reader->chunk_width * (layout->is_separate ? 1 : layout->samples) * layout->bits, 8);
  if (layout->block_width > 1 || layout->block_height > 1) {
    // A block of chroma subsampling has its luma samples first, then Cb and Cr (TIFF 6.0, section 21).
    uint64_t block = (uint64_t)layout->block_width * layout->block_height + 2;
    needed = ctiff_rounded_up(reader->chunk_width, layout->block_width) * block;
    reader->row_bytes = (tmsize_t)needed;
  }
  uint64_t rows = ctiff_rounded_up(reader->chunk_height, layout->block_height);
  if ((uint64_t)reader->row_bytes < needed || (uint64_t)reader->chunk_bytes / rows < (uint64_t)reader->row_bytes) {
    return ctiff_fail(reader, CCODEC_UNSUPPORTED, "libtiff decodes strips or tiles of %lld bytes, which don't hold their %u x %u pixels",
                      (long long)reader->chunk_bytes, reader->chunk_width, reader->chunk_height);
  }
  return CCODEC_OK;
}

static CCodecStatus allocate_chunks(CTIFFReader *reader) {
  int planes = kept_planes(reader);
  // More than the estimate, which callers compare with their limits.
  if ((uint64_t)reader->chunk_bytes > reader->memory / (uint64_t)planes) {
    return ctiff_fail(reader, CCODEC_TOO_LARGE, "strips or tiles of %lld bytes", (long long)reader->chunk_bytes);
  }
  bool has_memory = true;
  // With zeros, since a decoder may leave bytes unwritten.
  for (int index = 0; index < planes; index++) {
    has_memory = (reader->planes_bytes[index] = calloc(1, (size_t)reader->chunk_bytes)) != NULL && has_memory;
  }
  for (size_t index = 0; index < sizeof reader->scratch.values / sizeof *reader->scratch.values; index++) {
    has_memory = (reader->scratch.values[index] = malloc(reader->chunk_width)) != NULL && has_memory;
  }
  return has_memory ? CCODEC_OK : ctiff_fail(reader, CCODEC_OUT_OF_MEMORY, "no memory for a strip or tile");
}

CCodecStatus ctiff_reader_begin_page(CTIFFReader *reader) {
  CCodecStatus status = ctiff_read_layout(reader);
  if (status == CCODEC_OK) status = measure_chunks(reader);
  if (status == CCODEC_OK) status = allocate_chunks(reader);
  reader->reports_warnings = true;
  return status == CCODEC_OK && reader->has_failed ? CCODEC_UNDECODABLE : status;
}

// Decodes all planes of the strip or tile at a position.
static CCodecStatus decode_chunk(CTIFFReader *reader, uint32_t x, uint32_t y) {
  for (uint16_t plane = 0; plane < reader->planes; plane++) {
    if (ccodec_is_late(reader->deadline)) return CCODEC_OUT_OF_TIME;
    uint8_t *to = reader->planes_bytes[kept_plane(reader, plane)];
    tmsize_t count = 0;
    if (reader->is_tiled) {
      uint32_t tile = ctiff_functions.TIFFComputeTile(reader->tiff, x, y, 0, plane);
      count = ctiff_functions.TIFFReadEncodedTile(reader->tiff, tile, to, reader->chunk_bytes);
    } else {
      uint32_t strip = ctiff_functions.TIFFComputeStrip(reader->tiff, y, plane);
      count = ctiff_functions.TIFFReadEncodedStrip(reader->tiff, strip, to, reader->chunk_bytes);
    }
    // The fax decoder reports invalid codes as errors but goes on.
    if (count < 0 || reader->has_failed) return ctiff_fail(reader, CCODEC_UNDECODABLE, "a strip or tile can't be decoded");
  }
  return CCODEC_OK;
}

static void convert_chunk(CTIFFReader *reader, uint32_t width, uint32_t height, uint8_t *rows, size_t row_length) {
  uint32_t block = reader->layout.block_height;
  for (uint32_t y = 0; y < height; y++) {
    const uint8_t *planes[MOST_PLANES];
    for (int plane = 0; plane < MOST_PLANES; plane++) {
      uint8_t *start = reader->planes_bytes[plane];
      planes[plane] = start == NULL ? NULL : start + (size_t)(y / block) * (size_t)reader->row_bytes;
    }
    ctiff_convert_row(&reader->layout, planes, y % block, width, rows + y * row_length, &reader->scratch);
  }
}

CCodecStatus ctiff_reader_read_band(CTIFFReader *reader, uint32_t band, uint8_t *rows) {
  uint32_t y = band * reader->chunk_height;
  uint32_t height = reader->height - y < reader->chunk_height ? reader->height - y : reader->chunk_height;
  for (uint32_t x = 0; x < reader->width;) {
    CCodecStatus status = decode_chunk(reader, x, y);
    if (status != CCODEC_OK) return status;
    uint32_t rest = reader->width - x, width = rest < reader->chunk_width ? rest : reader->chunk_width;
    if (rows != NULL) convert_chunk(reader, width, height, rows + (size_t)x * 4, (size_t)reader->width * 4);
    x += width;
  }
  return CCODEC_OK;
}

#endif
