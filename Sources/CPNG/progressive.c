#include "decoding.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

// Finds the end of the arriving chunk. The signature is treated like a chunk.
typedef struct {
  uint32_t length;
  unsigned length_bytes;  // how many of the 4 bytes of `length` have arrived
  uint64_t left;          // remaining bytes of its name, content and checksum
} ChunkWalk;

struct CPNGProgressive {
  png_structp png;
  png_infop info;
  Failures failures;
  CPNGExpectation expected;
  uint8_t *pixels;
  uint64_t drawn_rows;
  int passes;
  ChunkWalk walk;
  int is_whole;    // the last row of the last pass was drawn
  int is_sound;    // and the checksum of its chunk was correct
  int has_ended;   // following data is ignored
  uint8_t *exif;
  size_t exif_count;
};

static void on_info(png_structp png, png_infop info) {
  CPNGProgressive *progressive = png_get_progressive_ptr(png);
  progressive->passes = cpng_configure(png, info, progressive->expected);
  progressive->pixels = calloc(progressive->expected.height, (size_t)progressive->expected.width * 4);
  if (progressive->pixels == NULL) cpng_fail(png, CCODEC_OUT_OF_MEMORY, "Out of memory");
}

// `row` is NULL if a pass of an interlaced picture has no pixels in it.
static void on_row(png_structp png, png_bytep row, png_uint_32 y, int pass) {
  CPNGProgressive *progressive = png_get_progressive_ptr(png);
  if (y % ROWS_PER_CHECK == 0) cpng_fail_if_late(png);
  if (pass + 1 == progressive->passes && y + 1 == progressive->expected.height) progressive->is_whole = 1;
  if (row == NULL) return;
  png_progressive_combine_row(png, progressive->pixels + (size_t)y * progressive->expected.width * 4, row);
  progressive->drawn_rows++;
}

static void on_end(png_structp png, png_infop info) {
  (void)info;
  ((CPNGProgressive *)png_get_progressive_ptr(png))->has_ended = 1;
}

static int on_chunk(png_structp png, png_unknown_chunkp chunk) {
  CPNGProgressive *progressive = png_get_user_chunk_ptr(png);
  if (progressive->exif != NULL || memcmp(chunk->name, "eXIf", 4) != 0) return 1;
  progressive->exif = malloc(chunk->size + 1);
  if (progressive->exif == NULL) cpng_fail(png, CCODEC_OUT_OF_MEMORY, "Out of memory");
  memcpy(progressive->exif, chunk->data, chunk->size);
  progressive->exif_count = chunk->size;
  return 1;
}

static void configure(CPNGProgressive *progressive) {
  png_structp png = progressive->png;
  cpng_restrict(png, progressive->expected);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_ALWAYS, (png_const_bytep)"eXIf", 1);
  png_set_read_user_chunk_fn(png, progressive, on_chunk);
  png_set_progressive_read_fn(png, progressive, on_info, on_row, on_end);
}

CPNGProgressive *cpng_progressive_create(CPNGExpectation expected) {
  CPNGProgressive *progressive = calloc(1, sizeof *progressive);
  if (progressive == NULL) return NULL;
  progressive->expected = expected;
  progressive->walk = (ChunkWalk){.length_bytes = 4, .left = 8};
  progressive->png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &progressive->failures, cpng_on_error, cpng_on_warning);
  if (progressive->png != NULL) progressive->info = png_create_info_struct(progressive->png);
  if (progressive->info != NULL) {
    if (setjmp(png_jmpbuf(progressive->png)) == 0) configure(progressive);
    if (progressive->failures.status == CCODEC_OK) return progressive;
  }
  cpng_progressive_destroy(progressive);
  return NULL;
}

void cpng_progressive_destroy(CPNGProgressive *progressive) {
  png_destroy_read_struct(&progressive->png, &progressive->info, NULL);
  free(progressive->pixels);
  free(progressive->exif);
  free(progressive);
}

const CCodecReport *cpng_progressive_report(const CPNGProgressive *progressive) { return &progressive->failures.report; }

const uint8_t *cpng_progressive_pixels(const CPNGProgressive *progressive) { return progressive->pixels; }

uint64_t cpng_progressive_drawn_rows(const CPNGProgressive *progressive) { return progressive->drawn_rows; }

const uint8_t *cpng_progressive_exif(const CPNGProgressive *progressive, size_t *count) {
  *count = progressive->exif_count;
  return progressive->exif;
}

// The number of bytes that belong to the current chunk.
static size_t step(ChunkWalk *walk, const uint8_t *bytes, size_t count) {
  size_t taken = 0;
  while (walk->length_bytes < 4 && taken < count) {
    walk->length = walk->length << 8 | bytes[taken++];
    if (++walk->length_bytes == 4) walk->left = (uint64_t)walk->length + 8;
  }
  size_t rest = count - taken < walk->left ? count - taken : (size_t)walk->left;
  walk->left -= rest;
  if (walk->length_bytes == 4 && walk->left == 0) walk->length_bytes = 0;
  return taken + rest;
}

static void append(CPNGProgressive *progressive, const uint8_t *bytes, size_t count) {
  while (count > 0 && !progressive->has_ended) {
    size_t taken = step(&progressive->walk, bytes, count);
    png_process_data(progressive->png, progressive->info, (png_bytep)bytes, taken);
    if (progressive->is_whole && progressive->walk.length_bytes == 0) progressive->is_sound = 1;
    bytes += taken;
    count -= taken;
  }
}

CCodecStatus cpng_progressive_append(CPNGProgressive *progressive, const uint8_t *bytes, size_t count, uint64_t deadline) {
  progressive->failures.deadline = deadline;
  if (setjmp(png_jmpbuf(progressive->png)) == 0) {
    append(progressive, bytes, count);
  } else if (progressive->is_sound && progressive->failures.status == CCODEC_UNDECODABLE) {
    // The picture is complete, so errors after it don't matter.
    progressive->failures.status = CCODEC_OK;
    progressive->has_ended = 1;
  }
  return progressive->failures.status;
}
