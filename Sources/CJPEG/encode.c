#include "failures.h"

#include <stdlib.h>

// A file that is being written.
typedef struct {
  struct jpeg_compress_struct jpeg;
  Failures failures;
  struct jpeg_destination_mgr destination;
  size_t maximum_bytes;
  uint8_t *bytes;
  size_t count, capacity;
  uint8_t *row;
} Encoder;

static Encoder *owner_of(j_compress_ptr jpeg) { return (Encoder *)jpeg; }

static void grow(j_compress_ptr jpeg, size_t capacity) {
  Encoder *encoder = owner_of(jpeg);
  uint8_t *larger = realloc(encoder->bytes, capacity);
  if (larger == NULL) cjpeg_fail((j_common_ptr)jpeg, CCODEC_OUT_OF_MEMORY, "no memory for the file");
  encoder->bytes = larger;
  encoder->destination.next_output_byte = larger + encoder->capacity;
  encoder->destination.free_in_buffer = capacity - encoder->capacity;
  encoder->capacity = capacity;
}

static void on_start(j_compress_ptr jpeg) { grow(jpeg, 16 << 10); }

static boolean on_full(j_compress_ptr jpeg) {
  Encoder *encoder = owner_of(jpeg);
  if (encoder->capacity > encoder->maximum_bytes) cjpeg_fail((j_common_ptr)jpeg, CCODEC_TOO_LARGE, "too large");
  grow(jpeg, encoder->capacity * 2);
  return TRUE;
}

static void on_end(j_compress_ptr jpeg) {
  Encoder *encoder = owner_of(jpeg);
  encoder->count = encoder->capacity - encoder->destination.free_in_buffer;
  if (encoder->count > encoder->maximum_bytes) cjpeg_fail((j_common_ptr)jpeg, CCODEC_TOO_LARGE, "too large");
}

// Flattens RGBA onto white.
static void flatten(uint8_t *row, const uint8_t *pixels, unsigned width) {
  for (unsigned x = 0; x < width; x++, row += 4, pixels += 4) {
    unsigned alpha = pixels[3];
    for (int channel = 0; channel < 3; channel++)
      row[channel] = (uint8_t)((pixels[channel] * alpha + 255 * (255 - alpha) + 127) / 255);
  }
}

static void run(Encoder *encoder, const uint8_t *pixels, CJPEGEncoding encoding) {
  j_compress_ptr jpeg = &encoder->jpeg;
  jpeg_create_compress(jpeg);
  encoder->destination = (struct jpeg_destination_mgr){
      .init_destination = on_start, .empty_output_buffer = on_full, .term_destination = on_end};
  jpeg->dest = &encoder->destination;
  jpeg->image_width = encoding.width;
  jpeg->image_height = encoding.height;
  jpeg->input_components = 4;
  jpeg->in_color_space = JCS_EXT_RGBX;
  jpeg_set_defaults(jpeg);
  jpeg_set_quality(jpeg, encoding.quality, TRUE);
  jpeg->optimize_coding = TRUE;
  jpeg->comp_info[0].h_samp_factor = jpeg->comp_info[0].v_samp_factor = encoding.subsamples ? 2 : 1;
  jpeg_start_compress(jpeg, TRUE);
  encoder->row = malloc((size_t)encoding.width * 4);
  if (encoder->row == NULL) cjpeg_fail((j_common_ptr)jpeg, CCODEC_OUT_OF_MEMORY, "no memory for a row");
  for (unsigned y = 0; y < encoding.height; y++) {
    flatten(encoder->row, pixels + (size_t)y * encoding.width * 4, encoding.width);
    JSAMPROW rows[1] = {encoder->row};
    jpeg_write_scanlines(jpeg, rows, 1);
  }
  jpeg_finish_compress(jpeg);
}

// A separate stack frame for `setjmp`: `encoder` points into the caller's frame, so its data survives the jump.
static void run_until_error(Encoder *encoder, const uint8_t *pixels, CJPEGEncoding encoding) {
  if (setjmp(encoder->failures.escape) == 0) run(encoder, pixels, encoding);
}

CCodecStatus cjpeg_encode(const uint8_t *pixels, CJPEGEncoding encoding, uint8_t **bytes, size_t *count, CCodecReport *report) {
  Encoder encoder = {.maximum_bytes = encoding.maximum_bytes};
  encoder.jpeg.err = cjpeg_failures_begin(&encoder.failures);
  run_until_error(&encoder, pixels, encoding);
  jpeg_destroy_compress(&encoder.jpeg);
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
