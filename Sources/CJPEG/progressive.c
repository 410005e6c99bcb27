#include "decoding.h"

#include <stdlib.h>
#include <string.h>

typedef enum { READING_HEADER, READING_SCANS, READ_ALL } Progress;
typedef enum { BETWEEN_PASSES, IN_ROWS, AFTER_ROWS } Pass;

struct CJPEGProgressive {
  struct jpeg_decompress_struct jpeg;
  Failures failures;
  struct jpeg_source_mgr source;
  CJPEGExpectation expected;
  uint8_t *bytes;   // unread ones are at `source.next_input_byte`
  size_t capacity;
  size_t to_skip;   // bytes that libjpeg skips when they arrive
  Progress progress;
  Pass pass;
};

static CJPEGProgressive *owner_of(j_decompress_ptr jpeg) { return (CJPEGProgressive *)jpeg; }

static void on_source(j_decompress_ptr jpeg) { (void)jpeg; }

// libjpeg rewinds to a point where it can resume, and its calls return.
static boolean on_empty_source(j_decompress_ptr jpeg) {
  (void)jpeg;
  return FALSE;
}

static void on_skip(j_decompress_ptr jpeg, long count) {
  if (count <= 0) return;
  struct jpeg_source_mgr *source = jpeg->src;
  size_t here = (size_t)count < source->bytes_in_buffer ? (size_t)count : source->bytes_in_buffer;
  source->next_input_byte += here;
  source->bytes_in_buffer -= here;
  owner_of(jpeg)->to_skip += (size_t)count - here;
}

CJPEGProgressive *cjpeg_progressive_create(CJPEGExpectation expected) {
  CJPEGProgressive *progressive = calloc(1, sizeof *progressive);
  if (progressive == NULL) return NULL;
  progressive->expected = expected;
  progressive->expected.eighths = 8;
  progressive->jpeg.err = cjpeg_failures_begin(&progressive->failures);
  progressive->source = (struct jpeg_source_mgr){
      .init_source = on_source, .fill_input_buffer = on_empty_source, .skip_input_data = on_skip,
      .resync_to_restart = jpeg_resync_to_restart, .term_source = on_source};
  return progressive;
}

void cjpeg_progressive_destroy(CJPEGProgressive *progressive) {
  jpeg_destroy_decompress(&progressive->jpeg);
  free(progressive->bytes);
  free(progressive);
}

const CCodecReport *cjpeg_progressive_report(const CJPEGProgressive *progressive) { return &progressive->failures.report; }

// Moves the unread bytes to the front and appends the new ones.
static void take(CJPEGProgressive *progressive, const uint8_t *bytes, size_t count) {
  struct jpeg_source_mgr *source = &progressive->source;
  size_t skipped = count < progressive->to_skip ? count : progressive->to_skip;
  progressive->to_skip -= skipped;
  bytes += skipped;
  count -= skipped;
  size_t left = source->bytes_in_buffer;
  if (left > 0) memmove(progressive->bytes, source->next_input_byte, left);
  if (left + count > progressive->capacity) {
    size_t capacity = (left + count) * 2;
    uint8_t *larger = realloc(progressive->bytes, capacity);
    if (larger == NULL) cjpeg_fail((j_common_ptr)&progressive->jpeg, CCODEC_OUT_OF_MEMORY, "no memory for arriving bytes");
    progressive->bytes = larger;
    progressive->capacity = capacity;
  }
  if (count > 0) memcpy(progressive->bytes + left, bytes, count);
  source->next_input_byte = progressive->bytes;
  source->bytes_in_buffer = left + count;
}

static void append(CJPEGProgressive *progressive, const uint8_t *bytes, size_t count) {
  j_decompress_ptr jpeg = &progressive->jpeg;
  if (jpeg->mem == NULL) {
    jpeg_create_decompress(jpeg);
    jpeg->src = &progressive->source;
  }
  take(progressive, bytes, count);
  if (progressive->progress == READING_HEADER) {
    if (jpeg_read_header(jpeg, TRUE) == JPEG_SUSPENDED) return;
    cjpeg_configure(jpeg, progressive->expected);
    jpeg->buffered_image = TRUE;
    jpeg_start_decompress(jpeg);
    progressive->progress = READING_SCANS;
  }
  for (unsigned call = 1; progressive->progress == READING_SCANS; call++) {
    if (call % (ROWS_PER_CHECK / DCTSIZE) == 0) cjpeg_fail_if_late((j_common_ptr)jpeg);
    switch (jpeg_consume_input(jpeg)) {
      case JPEG_SUSPENDED: return;
      case JPEG_REACHED_SOS: cjpeg_check_scan(jpeg, progressive->expected.maximum_scans); break;
      case JPEG_REACHED_EOI: progressive->progress = READ_ALL; break;
    }
  }
}

// Draws until the last complete scan is drawn. The first scan is drawn as it arrives: its pass stops where the data ends and is
// resumed later.
static void draw(CJPEGProgressive *progressive, uint8_t *pixels, int *changed) {
  j_decompress_ptr jpeg = &progressive->jpeg;
  while (progressive->progress != READING_HEADER) {
    switch (progressive->pass) {
      case BETWEEN_PASSES: {
        int whole_scans = progressive->progress == READ_ALL ? jpeg->input_scan_number : jpeg->input_scan_number - 1;
        int scan = whole_scans > 1 ? whole_scans : 1;
        if (scan <= jpeg->output_scan_number) return;
        jpeg_start_output(jpeg, scan);
        progressive->pass = IN_ROWS;
        break;
      }
      case IN_ROWS:
        while (jpeg->output_scanline < jpeg->output_height) {
          if (jpeg->output_scanline % ROWS_PER_CHECK == 0) cjpeg_fail_if_late((j_common_ptr)jpeg);
          if (!cjpeg_read_row(jpeg, pixels + (size_t)jpeg->output_scanline * jpeg->output_width * 4)) return;
          *changed = 1;
        }
        progressive->pass = AFTER_ROWS;
        break;
      case AFTER_ROWS:
        if (!jpeg_finish_output(jpeg)) return;
        progressive->pass = BETWEEN_PASSES;
        break;
    }
  }
}

CCodecStatus cjpeg_progressive_append(CJPEGProgressive *progressive, const uint8_t *bytes, size_t count, uint64_t deadline) {
  progressive->failures.deadline = deadline;
  if (setjmp(progressive->failures.escape) == 0) append(progressive, bytes, count);
  return progressive->failures.status;
}

CCodecStatus cjpeg_progressive_draw(CJPEGProgressive *progressive, uint8_t *pixels, int *changed, uint64_t deadline) {
  progressive->failures.deadline = deadline;
  *changed = 0;
  if (setjmp(progressive->failures.escape) == 0) draw(progressive, pixels, changed);
  return progressive->failures.status;
}
