#include "CJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

// One decode: libjpeg's own state first, so that its pointer is a pointer to all of this.
typedef struct {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  jmp_buf escape;
  CJPEGStatus status;
  CJPEGReport *report;
  int file_ended;                          // libjpeg met the end of the bytes and went on with an EOI of its own
  int component_seen[MAX_COMPONENTS];      // whether a scan brought data for it
} Decoder;

static void append_line(char *lines, size_t capacity, const char *line) {
  size_t used = strlen(lines), length = strlen(line);
  if (strstr(lines, line) != NULL || used + length + 2 > capacity) return;
  if (used > 0) lines[used++] = '\n';
  memcpy(lines + used, line, length + 1);
}

static _Noreturn void fail(Decoder *decoder, CJPEGStatus status, const char *message) {
  decoder->status = status;
  snprintf(decoder->report->message, CJPEG_MESSAGE_BYTES, "%s", message);
  longjmp(decoder->escape, 1);
}

static const char *premature_end(const Decoder *decoder) { return decoder->errors.jpeg_message_table[JWRN_JPEG_EOF]; }

// Once the bytes have ended, every later complaint follows from that.
static _Noreturn void fail_in_words_of_library(Decoder *decoder, CJPEGStatus status) {
  char message[JMSG_LENGTH_MAX];
  if (decoder->file_ended && status == CJPEG_UNDECODABLE) fail(decoder, status, premature_end(decoder));
  decoder->errors.format_message((j_common_ptr)&decoder->jpeg, message);
  fail(decoder, status, message);
}

static void on_error(j_common_ptr jpeg) {
  Decoder *decoder = (Decoder *)jpeg;
  int code = decoder->errors.msg_code;
  // JERR_NO_BACKING_STORE: more than `max_memory_to_use` would be needed.
  int memory = code == JERR_OUT_OF_MEMORY || code == JERR_NO_BACKING_STORE;
  fail_in_words_of_library(decoder, memory ? CJPEG_OUT_OF_MEMORY : CJPEG_UNDECODABLE);
}

// libjpeg fills what is missing with grey and calls it a warning. Where picture data is missing or wrong, that is an error here.
static void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  Decoder *decoder = (Decoder *)jpeg;
  decoder->errors.num_warnings++;
  switch (decoder->errors.msg_code) {
    case JWRN_JPEG_EOF:
      // All data may have come; if not, JWRN_HIT_MARKER follows as soon as a block finds none.
      decoder->file_ended = 1;
      return;
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
      fail_in_words_of_library(decoder, CJPEG_UNDECODABLE);
    default: {
      char line[JMSG_LENGTH_MAX];
      decoder->errors.format_message(jpeg, line);
      append_line(decoder->report->warnings, CJPEG_WARNINGS_BYTES, line);
    }
  }
}

static void begin(Decoder *decoder, const uint8_t *bytes, size_t count, CJPEGExpectation expected) {
  j_decompress_ptr jpeg = &decoder->jpeg;
  jpeg_create_decompress(jpeg);
  jpeg_mem_src(jpeg, bytes, count);
  jpeg_read_header(jpeg, TRUE);
  if (jpeg->image_width != expected.width || jpeg->image_height != expected.height)
    fail(decoder, CJPEG_UNDECODABLE, "two frame headers with different sizes");
  // Four components of 16-bit coefficients in blocks padded to at most twice the image, and room for tables and rows.
  jpeg->mem->max_memory_to_use = (long)((size_t)expected.width * expected.height * 16 + ((size_t)64 << 20));
  switch (jpeg->jpeg_color_space) {
    case JCS_GRAYSCALE: case JCS_RGB: case JCS_YCbCr: jpeg->out_color_space = JCS_EXT_RGBA; break;
    case JCS_CMYK: case JCS_YCCK: jpeg->out_color_space = JCS_CMYK; break;
    default: fail(decoder, CJPEG_UNDECODABLE, "a colour space that is none of grey, RGB, YCbCr, CMYK and YCCK");
  }
  // All scans are read before the first row is made, so that what is missing is known.
  jpeg->buffered_image = jpeg_has_multiple_scans(jpeg);
}

static void note_scan(Decoder *decoder, unsigned maximum_scans) {
  j_decompress_ptr jpeg = &decoder->jpeg;
  if (jpeg->input_scan_number > (int)maximum_scans) fail(decoder, CJPEG_UNDECODABLE, "more scans than allowed");
  for (int i = 0; i < jpeg->comps_in_scan; i++) decoder->component_seen[jpeg->cur_comp_info[i]->component_index] = 1;
}

// Whether the scans so far bring every coefficient in full precision.
static int is_refined(j_decompress_ptr jpeg) {
  if (!jpeg->progressive_mode) return 1;
  for (int component = 0; component < jpeg->num_components; component++)
    for (int coefficient = 0; coefficient < DCTSIZE2; coefficient++)
      if (jpeg->coef_bits[component][coefficient] != 0) return 0;
  return 1;
}

static void read_all_scans(Decoder *decoder, unsigned maximum_scans) {
  j_decompress_ptr jpeg = &decoder->jpeg;
  note_scan(decoder, maximum_scans);
  for (;;) {
    int event = jpeg_consume_input(jpeg);
    if (event == JPEG_REACHED_SOS) note_scan(decoder, maximum_scans);
    if (event == JPEG_REACHED_EOI) break;
  }
  for (int component = 0; component < jpeg->num_components; component++)
    if (!decoder->component_seen[component]) fail(decoder, CJPEG_UNDECODABLE, "a colour component has no scan");
  // Cut between two scans: what came is whole, what refines it is missing.
  if (decoder->file_ended && !is_refined(jpeg)) fail_in_words_of_library(decoder, CJPEG_UNDECODABLE);
}

static void end(Decoder *decoder) {
  jpeg_finish_decompress(&decoder->jpeg);
  if (decoder->file_ended)
    append_line(decoder->report->warnings, CJPEG_WARNINGS_BYTES, premature_end(decoder));
}

// In place from CMYK to RGBA. Writers of CMYK JPEGs store ink inverted, as Adobe does: 255 is no ink.
static void convert_from_cmyk(uint8_t *row, unsigned width) {
  for (unsigned x = 0; x < width; x++, row += 4) {
    unsigned light = row[3];
    for (int channel = 0; channel < 3; channel++) row[channel] = (uint8_t)((row[channel] * light + 127) / 255);
    row[3] = 255;
  }
}

static void read_rows(Decoder *decoder, uint8_t *pixels) {
  j_decompress_ptr jpeg = &decoder->jpeg;
  size_t stride = (size_t)jpeg->output_width * 4;
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = pixels;
    jpeg_read_scanlines(jpeg, &row, 1);
    if (jpeg->out_color_space == JCS_CMYK) convert_from_cmyk(row, jpeg->output_width);
    pixels += stride;
  }
}

// Rows at an eighth of the size: the entropy decoder reads all data as ever, and the work on pixels shrinks to a 64th.
static void skip_rows(Decoder *decoder) {
  j_decompress_ptr jpeg = &decoder->jpeg;
  JSAMPARRAY row =
      jpeg->mem->alloc_sarray((j_common_ptr)jpeg, JPOOL_IMAGE, jpeg->output_width * (JDIMENSION)jpeg->output_components, 1);
  while (jpeg->output_scanline < jpeg->output_height) jpeg_read_scanlines(jpeg, row, 1);
}

// `pixels` is NULL where no pixel is wanted.
static void run(Decoder *decoder, const uint8_t *bytes, size_t count, CJPEGExpectation expected, uint8_t *pixels) {
  j_decompress_ptr jpeg = &decoder->jpeg;
  begin(decoder, bytes, count, expected);
  if (pixels == NULL) {
    jpeg->scale_num = 1;
    jpeg->scale_denom = 8;
  }
  jpeg_start_decompress(jpeg);
  if (jpeg->buffered_image) read_all_scans(decoder, expected.maximum_scans);
  if (jpeg->buffered_image && pixels != NULL) {
    jpeg_start_output(jpeg, jpeg->input_scan_number);
    read_rows(decoder, pixels);
    jpeg_finish_output(jpeg);
  } else if (pixels != NULL) {
    read_rows(decoder, pixels);
  } else if (!jpeg->buffered_image) {
    skip_rows(decoder);
  }
  end(decoder);
}

// A frame of its own around `setjmp`: what `decoder` points to lives in the caller's, and so survives the jump.
static void run_until_error(Decoder *decoder, const uint8_t *bytes, size_t count, CJPEGExpectation expected, uint8_t *pixels) {
  if (setjmp(decoder->escape) == 0) run(decoder, bytes, count, expected, pixels);
}

static CJPEGStatus finished_run(
    const uint8_t *bytes, size_t count, CJPEGExpectation expected, uint8_t *pixels, CJPEGReport *report) {
  Decoder decoder;
  memset(&decoder, 0, sizeof decoder);
  memset(report, 0, sizeof *report);
  decoder.report = report;
  decoder.jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  run_until_error(&decoder, bytes, count, expected, pixels);
  jpeg_destroy_decompress(&decoder.jpeg);
  return decoder.status;
}

CJPEGStatus cjpeg_decode(const uint8_t *bytes, size_t count, CJPEGExpectation expected, uint8_t *pixels, CJPEGReport *report) {
  return finished_run(bytes, count, expected, pixels, report);
}

CJPEGStatus cjpeg_prove(const uint8_t *bytes, size_t count, CJPEGExpectation expected, CJPEGReport *report) {
  return finished_run(bytes, count, expected, NULL, report);
}
