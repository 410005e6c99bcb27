#include "decoding.h"

#include <stdlib.h>

struct CJPEGReader {
  struct jpeg_decompress_struct jpeg;
  Failures failures;
  CJPEGExpectation expected;
  const uint8_t *bytes;
  size_t count;
  int component_seen[MAX_COMPONENTS];  // whether a scan has data for it
};

CJPEGReader *cjpeg_reader_create(const uint8_t *bytes, size_t count, CJPEGExpectation expected) {
  CJPEGReader *reader = calloc(1, sizeof *reader);
  if (reader == NULL) return NULL;
  reader->bytes = bytes;
  reader->count = count;
  reader->expected = expected;
  reader->failures.deadline = expected.deadline;
  reader->jpeg.err = cjpeg_failures_begin(&reader->failures);
  return reader;
}

void cjpeg_reader_destroy(CJPEGReader *reader) {
  jpeg_destroy_decompress(&reader->jpeg);
  free(reader);
}

const CCodecReport *cjpeg_reader_report(const CJPEGReader *reader) { return &reader->failures.report; }

static void note_scan(CJPEGReader *reader) {
  j_decompress_ptr jpeg = &reader->jpeg;
  cjpeg_check_scan(jpeg, reader->expected.maximum_scans);
  for (int i = 0; i < jpeg->comps_in_scan; i++) reader->component_seen[jpeg->cur_comp_info[i]->component_index] = 1;
}

// Whether the scans so far have every coefficient in full precision.
static int is_refined(j_decompress_ptr jpeg) {
  if (!jpeg->progressive_mode) return 1;
  for (int component = 0; component < jpeg->num_components; component++)
    for (int coefficient = 0; coefficient < DCTSIZE2; coefficient++)
      if (jpeg->coef_bits[component][coefficient] != 0) return 0;
  return 1;
}

static void read_all_scans(CJPEGReader *reader) {
  j_decompress_ptr jpeg = &reader->jpeg;
  note_scan(reader);
  for (unsigned call = 1;; call++) {
    // Each call reads a row of blocks.
    if (call % (ROWS_PER_CHECK / DCTSIZE) == 0) cjpeg_fail_if_late((j_common_ptr)jpeg);
    int event = jpeg_consume_input(jpeg);
    if (event == JPEG_REACHED_SOS) note_scan(reader);
    if (event == JPEG_REACHED_EOI) break;
  }
  for (int component = 0; component < jpeg->num_components; component++)
    if (!reader->component_seen[component]) {
      if (reader->failures.file_ended) cjpeg_fail_as_incomplete(jpeg);
      cjpeg_fail((j_common_ptr)jpeg, CCODEC_UNDECODABLE, "a colour component has no scan");
    }
  // Truncated between two scans: the previous ones are complete, but refining ones are missing.
  if (reader->failures.file_ended && !is_refined(jpeg)) cjpeg_fail_as_incomplete(jpeg);
}

static void start(CJPEGReader *reader) {
  j_decompress_ptr jpeg = &reader->jpeg;
  jpeg_create_decompress(jpeg);
  jpeg_mem_src(jpeg, reader->bytes, reader->count);
  jpeg_read_header(jpeg, TRUE);
  cjpeg_configure(jpeg, reader->expected);
  // All scans are read before the first row is output, so that missing data is detected.
  jpeg->buffered_image = jpeg_has_multiple_scans(jpeg);
  jpeg_start_decompress(jpeg);
  if (jpeg->buffered_image) read_all_scans(reader);
}

static void read_rows(CJPEGReader *reader, uint8_t *rows, unsigned count) {
  j_decompress_ptr jpeg = &reader->jpeg;
  size_t stride = (size_t)jpeg->output_width * 4;
  if (jpeg->buffered_image && jpeg->output_scan_number == 0) jpeg_start_output(jpeg, jpeg->input_scan_number);
  for (unsigned row = 0; row < count; row++) {
    if (jpeg->output_scanline % ROWS_PER_CHECK == 0) cjpeg_fail_if_late((j_common_ptr)jpeg);
    cjpeg_read_row(jpeg, rows + row * stride);
  }
}

// At an eighth of the size, the entropy decoder reads all data as usual, but pixels take a 64th of the work.
static void skip_rows(CJPEGReader *reader) {
  j_decompress_ptr jpeg = &reader->jpeg;
  if (jpeg->buffered_image) return;  // All scans have been read.
  JSAMPARRAY row =
      jpeg->mem->alloc_sarray((j_common_ptr)jpeg, JPOOL_IMAGE, jpeg->output_width * (JDIMENSION)jpeg->output_components, 1);
  while (jpeg->output_scanline < jpeg->output_height) {
    if (jpeg->output_scanline % ROWS_PER_CHECK == 0) cjpeg_fail_if_late((j_common_ptr)jpeg);
    jpeg_read_scanlines(jpeg, row, 1);
  }
}

static void finish(CJPEGReader *reader) {
  j_decompress_ptr jpeg = &reader->jpeg;
  if (jpeg->buffered_image && jpeg->output_scan_number > 0) jpeg_finish_output(jpeg);
  jpeg_finish_decompress(jpeg);
  cjpeg_warn_if_file_ended(jpeg);
}

// Each call below has its own stack frame for `setjmp`, whose locals aren't used after the jump.

CCodecStatus cjpeg_reader_start(CJPEGReader *reader) {
  if (setjmp(reader->failures.escape) == 0) start(reader);
  return reader->failures.status;
}

CCodecStatus cjpeg_reader_read(CJPEGReader *reader, uint8_t *rows, unsigned count) {
  if (setjmp(reader->failures.escape) == 0) read_rows(reader, rows, count);
  return reader->failures.status;
}

CCodecStatus cjpeg_reader_skip(CJPEGReader *reader) {
  if (setjmp(reader->failures.escape) == 0) skip_rows(reader);
  return reader->failures.status;
}

CCodecStatus cjpeg_reader_finish(CJPEGReader *reader) {
  if (setjmp(reader->failures.escape) == 0) finish(reader);
  return reader->failures.status;
}
