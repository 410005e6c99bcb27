#include "failures.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

// A file that is being written.
typedef struct {
  png_structp png;
  png_infop info;
  Failures failures;
  size_t maximum_bytes;
  uint8_t *bytes;
  size_t count, capacity;
  uint8_t *row;
} Encoder;

static void on_write(png_structp png, png_bytep from, size_t count) {
  Encoder *encoder = png_get_io_ptr(png);
  if (encoder->count + count > encoder->maximum_bytes) cpng_fail(png, CCODEC_TOO_LARGE, "too large");
  if (encoder->count + count > encoder->capacity) {
    size_t capacity = (encoder->count + count) * 2;
    uint8_t *larger = realloc(encoder->bytes, capacity);
    if (larger == NULL) cpng_fail(png, CCODEC_OUT_OF_MEMORY, "Out of memory");
    encoder->bytes = larger;
    encoder->capacity = capacity;
  }
  memcpy(encoder->bytes + encoder->count, from, count);
  encoder->count += count;
}

static void on_flush(png_structp png) { (void)png; }

// The smallest colour type that holds all pixels.
static int color_type(const uint8_t *pixels, size_t count) {
  int type = PNG_COLOR_TYPE_GRAY;
  for (size_t i = 0; i < count && type != PNG_COLOR_TYPE_RGB_ALPHA; i++, pixels += 4) {
    if (pixels[0] != pixels[1] || pixels[1] != pixels[2]) type |= PNG_COLOR_MASK_COLOR;
    if (pixels[3] != 255) type |= PNG_COLOR_MASK_ALPHA;
  }
  return type;
}

static void pack(uint8_t *row, const uint8_t *pixels, uint32_t width, int type) {
  for (uint32_t x = 0; x < width; x++, pixels += 4) {
    *row++ = pixels[0];
    if (type & PNG_COLOR_MASK_COLOR) {
      *row++ = pixels[1];
      *row++ = pixels[2];
    }
    if (type & PNG_COLOR_MASK_ALPHA) *row++ = pixels[3];
  }
}

static void run(Encoder *encoder, const uint8_t *pixels, uint32_t width, uint32_t height) {
  png_structp png = encoder->png;
  int type = color_type(pixels, (size_t)width * height);
  // libpng's default limit is one million per side.
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_write_fn(png, encoder, on_write, on_flush);
  png_set_IHDR(
      png, encoder->info, width, height, 8, type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, encoder->info);
  encoder->row = malloc((size_t)width * 4);
  if (encoder->row == NULL) cpng_fail(png, CCODEC_OUT_OF_MEMORY, "Out of memory");
  for (uint32_t y = 0; y < height; y++) {
    pack(encoder->row, pixels + (size_t)y * width * 4, width, type);
    png_write_row(png, encoder->row);
  }
  png_write_end(png, NULL);
}

// A separate stack frame for `setjmp`: `encoder` points into the caller's frame, so its data survives the jump.
static void run_until_error(Encoder *encoder, const uint8_t *pixels, uint32_t width, uint32_t height) {
  if (setjmp(png_jmpbuf(encoder->png)) == 0) run(encoder, pixels, width, height);
}

CCodecStatus cpng_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t maximum_bytes,
    uint8_t **bytes, size_t *count, CCodecReport *report) {
  Encoder encoder = {.maximum_bytes = maximum_bytes};
  encoder.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &encoder.failures, cpng_on_error, cpng_on_warning);
  if (encoder.png != NULL) encoder.info = png_create_info_struct(encoder.png);
  if (encoder.info != NULL) run_until_error(&encoder, pixels, width, height);
  else encoder.failures.status = CCODEC_OUT_OF_MEMORY;
  png_destroy_write_struct(&encoder.png, &encoder.info);
  free(encoder.row);
  *report = encoder.failures.report;
  if (encoder.failures.status != CCODEC_OK) {
    free(encoder.bytes);
    encoder.bytes = NULL;
  }
  *bytes = encoder.bytes;
  *count = encoder.count;
  return encoder.failures.status;
}
