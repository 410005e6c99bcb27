#include "CPNG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

// One decode.
typedef struct {
  const uint8_t *next;
  size_t left;
  int file_ended;
  png_structp png;
  png_infop info;
  uint8_t *row;
  CPNGStatus status;
  CPNGReport *report;
} Decoder;

static void append_line(char *lines, size_t capacity, const char *line) {
  size_t used = strlen(lines), length = strlen(line);
  if (strstr(lines, line) != NULL || used + length + 2 > capacity) return;
  if (used > 0) lines[used++] = '\n';
  memcpy(lines + used, line, length + 1);
}

static void on_error(png_structp png, png_const_charp message) {
  Decoder *decoder = png_get_error_ptr(png);
  decoder->status = strcmp(message, "Out of memory") == 0 ? CPNG_OUT_OF_MEMORY : CPNG_UNDECODABLE;
  snprintf(decoder->report->message, CPNG_MESSAGE_BYTES, "%s", message);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
  Decoder *decoder = png_get_error_ptr(png);
  append_line(decoder->report->warnings, CPNG_WARNINGS_BYTES, message);
}

static void on_read(png_structp png, png_bytep into, size_t count) {
  Decoder *decoder = png_get_io_ptr(png);
  if (count > decoder->left) {
    decoder->file_ended = 1;
    png_error(png, "premature end of PNG file");
  }
  memcpy(into, decoder->next, count);
  decoder->next += count;
  decoder->left -= count;
}

static void begin(Decoder *decoder, CPNGExpectation expected) {
  png_structp png = decoder->png;
  png_set_read_fn(png, decoder, on_read);
  png_set_user_limits(png, expected.width, expected.height);
  // No chunk can be longer than the file. None but PLTE and tRNS is kept, so that no profile or text is unpacked.
  png_set_chunk_malloc_max(png, decoder->left);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
  // A wrong sum means damage on the way, in whatever chunk.
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(png, decoder->info);
  if (png_get_image_width(png, decoder->info) != expected.width || png_get_image_height(png, decoder->info) != expected.height)
    png_error(png, "the size changed while it was read");
}

// Every image has been read when this begins, so a file that just lacks its IEND is odd, and whole.
static void end(Decoder *decoder) {
  if (setjmp(png_jmpbuf(decoder->png)) == 0) {
    png_read_end(decoder->png, NULL);
  } else if (decoder->file_ended) {
    decoder->status = CPNG_OK;
    append_line(decoder->report->warnings, CPNG_WARNINGS_BYTES, "premature end of PNG file, after all image data");
  }
}

static void read_rgba(Decoder *decoder, CPNGExpectation expected, uint8_t *pixels) {
  png_structp png = decoder->png;
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, decoder->info);
  size_t stride = (size_t)expected.width * 4;
  if (png_get_rowbytes(png, decoder->info) != stride) png_error(png, "a row that is not RGBA");
  for (int pass = 0; pass < passes; pass++)
    for (uint32_t y = 0; y < expected.height; y++) png_read_row(png, pixels + y * stride, NULL);
}

// Without libpng's interlace handling each pass is a small image of its own.
static void skip_rows(Decoder *decoder, CPNGExpectation expected) {
  png_structp png = decoder->png;
  // Palette indices are looked at only when a transformation runs.
  if (png_get_color_type(png, decoder->info) == PNG_COLOR_TYPE_PALETTE) png_set_expand(png);
  int interlaced = png_get_interlace_type(png, decoder->info) == PNG_INTERLACE_ADAM7;
  png_read_update_info(png, decoder->info);
  decoder->row = malloc(png_get_rowbytes(png, decoder->info));
  if (decoder->row == NULL) png_error(png, "Out of memory");
  if (!interlaced) {
    for (uint32_t y = 0; y < expected.height; y++) png_read_row(png, decoder->row, NULL);
    return;
  }
  for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; pass++) {
    if (PNG_PASS_COLS(expected.width, pass) == 0) continue;
    uint32_t rows = PNG_PASS_ROWS(expected.height, pass);
    for (uint32_t y = 0; y < rows; y++) png_read_row(png, decoder->row, NULL);
  }
}

// A frame of its own around `setjmp`: what `decoder` points to lives in the caller's, and so survives the jump.
static void run_until_error(Decoder *decoder, CPNGExpectation expected, uint8_t *pixels) {
  if (setjmp(png_jmpbuf(decoder->png)) != 0) return;
  begin(decoder, expected);
  if (pixels != NULL) read_rgba(decoder, expected, pixels);
  else skip_rows(decoder, expected);
  end(decoder);
}

// `pixels` is NULL where no pixel is wanted.
static CPNGStatus run(const uint8_t *bytes, size_t count, CPNGExpectation expected, uint8_t *pixels, CPNGReport *report) {
  Decoder decoder = {.next = bytes, .left = count, .report = report};
  memset(report, 0, sizeof *report);
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, on_error, on_warning);
  if (decoder.png != NULL) decoder.info = png_create_info_struct(decoder.png);
  if (decoder.info != NULL) run_until_error(&decoder, expected, pixels);
  else decoder.status = CPNG_OUT_OF_MEMORY;
  free(decoder.row);
  png_destroy_read_struct(&decoder.png, &decoder.info, NULL);
  return decoder.status;
}

CPNGStatus cpng_decode(const uint8_t *bytes, size_t count, CPNGExpectation expected, uint8_t *pixels, CPNGReport *report) {
  return run(bytes, count, expected, pixels, report);
}

CPNGStatus cpng_prove(const uint8_t *bytes, size_t count, CPNGExpectation expected, CPNGReport *report) {
  return run(bytes, count, expected, NULL, report);
}
