#include "decoding.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CPNGReader {
  png_structp png;
  png_infop info;
  Failures failures;
  CPNGExpectation expected;
  const uint8_t *next;
  size_t left;
  int passes;           // 0 until pixels are read
  uint64_t rows_read;   // in all passes
  uint8_t *row;
};

static void on_read(png_structp png, png_bytep into, size_t count) {
  CPNGReader *reader = png_get_io_ptr(png);
  if (count > reader->left) cpng_fail(png, CCODEC_UNDECODABLE, "premature end of PNG file");
  memcpy(into, reader->next, count);
  reader->next += count;
  reader->left -= count;
}

CPNGReader *cpng_reader_create(const uint8_t *bytes, size_t count, CPNGExpectation expected) {
  CPNGReader *reader = calloc(1, sizeof *reader);
  if (reader == NULL) return NULL;
  reader->next = bytes;
  reader->left = count;
  reader->expected = expected;
  reader->failures.deadline = expected.deadline;
  reader->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader->failures, cpng_on_error, cpng_on_warning);
  if (reader->png != NULL) reader->info = png_create_info_struct(reader->png);
  if (reader->info != NULL) return reader;
  cpng_reader_destroy(reader);
  return NULL;
}

void cpng_reader_destroy(CPNGReader *reader) {
  png_destroy_read_struct(&reader->png, &reader->info, NULL);
  free(reader->row);
  free(reader);
}

const CCodecReport *cpng_reader_report(const CPNGReader *reader) { return &reader->failures.report; }

static void start(CPNGReader *reader) {
  png_structp png = reader->png;
  png_set_read_fn(png, reader, on_read);
  cpng_restrict(png, reader->expected);
  // No chunk can be longer than the file.
  png_set_chunk_malloc_max(png, reader->left);
  png_read_info(png, reader->info);
  cpng_check_size(png, reader->info, reader->expected);
}

static void read_row(CPNGReader *reader, uint8_t *row) {
  if (reader->rows_read++ % ROWS_PER_CHECK == 0) cpng_fail_if_late(reader->png);
  png_read_row(reader->png, row, NULL);
}

static void read_rows(CPNGReader *reader, uint8_t *rows, uint32_t count) {
  png_structp png = reader->png;
  size_t stride = (size_t)reader->expected.width * 4;
  if (reader->passes == 0) reader->passes = cpng_configure(png, reader->info, reader->expected);
  for (int pass = 0; pass < reader->passes; pass++)
    for (uint32_t row = 0; row < count; row++) read_row(reader, rows + row * stride);
}

// Without libpng's interlace handling, each pass is a separate small image.
static void skip_rows(CPNGReader *reader) {
  png_structp png = reader->png;
  // libpng checks palette indices only if a transformation runs.
  if (png_get_color_type(png, reader->info) == PNG_COLOR_TYPE_PALETTE) png_set_expand(png);
  int interlaced = png_get_interlace_type(png, reader->info) == PNG_INTERLACE_ADAM7;
  png_read_update_info(png, reader->info);
  reader->row = malloc(png_get_rowbytes(png, reader->info));
  if (reader->row == NULL) cpng_fail(png, CCODEC_OUT_OF_MEMORY, "Out of memory");
  for (int pass = 0; pass < (interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1); pass++) {
    if (interlaced && PNG_PASS_COLS(reader->expected.width, pass) == 0) continue;
    uint32_t rows = interlaced ? PNG_PASS_ROWS(reader->expected.height, pass) : reader->expected.height;
    for (uint32_t row = 0; row < rows; row++) read_row(reader, reader->row);
  }
}

// The picture was read and its checksums were correct, so errors after it are only warnings.
static void read_end(CPNGReader *reader) {
  png_set_crc_action(reader->png, PNG_CRC_WARN_USE, PNG_CRC_WARN_DISCARD);
  png_read_end(reader->png, NULL);
}

// Each call below has its own stack frame for `setjmp`, whose locals aren't used after the jump.

CCodecStatus cpng_reader_start(CPNGReader *reader) {
  if (setjmp(png_jmpbuf(reader->png)) == 0) start(reader);
  return reader->failures.status;
}

CCodecStatus cpng_reader_read(CPNGReader *reader, uint8_t *rows, uint32_t count) {
  if (setjmp(png_jmpbuf(reader->png)) == 0) read_rows(reader, rows, count);
  return reader->failures.status;
}

CCodecStatus cpng_reader_skip(CPNGReader *reader) {
  if (setjmp(png_jmpbuf(reader->png)) == 0) skip_rows(reader);
  return reader->failures.status;
}

CCodecStatus cpng_reader_finish(CPNGReader *reader) {
  if (setjmp(png_jmpbuf(reader->png)) == 0) {
    read_end(reader);
  } else if (reader->failures.status == CCODEC_UNDECODABLE) {
    char line[CCODEC_MESSAGE_BYTES + 32];
    snprintf(line, sizeof line, "%s, after all image data", reader->failures.report.message);
    ccodec_warn(&reader->failures.report, line);
    reader->failures.status = CCODEC_OK;
  }
  return reader->failures.status;
}
