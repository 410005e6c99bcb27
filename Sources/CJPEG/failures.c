#include "failures.h"

#include <string.h>
#include <time.h>

static void append_line(char *lines, size_t capacity, const char *line) {
  size_t used = strlen(lines), length = strlen(line);
  if (strstr(lines, line) != NULL || used + length + 2 > capacity) return;
  if (used > 0) lines[used++] = '\n';
  memcpy(lines + used, line, length + 1);
}

static void warn(Failures *failures, const char *line) { append_line(failures->report.warnings, CJPEG_WARNINGS_BYTES, line); }

_Noreturn void cjpeg_fail(j_common_ptr jpeg, CJPEGStatus status, const char *message) {
  Failures *failures = failures_of(jpeg);
  failures->status = status;
  snprintf(failures->report.message, CJPEG_MESSAGE_BYTES, "%s", message);
  longjmp(failures->escape, 1);
}

static const char *premature_end(const Failures *failures) { return failures->manager.jpeg_message_table[JWRN_JPEG_EOF]; }

_Noreturn void cjpeg_fail_as_truncated(j_common_ptr jpeg) { cjpeg_fail(jpeg, CJPEG_UNDECODABLE, premature_end(failures_of(jpeg))); }

void cjpeg_warn_if_file_ended(j_common_ptr jpeg) {
  Failures *failures = failures_of(jpeg);
  if (failures->file_ended) warn(failures, premature_end(failures));
}

void cjpeg_fail_if_late(j_common_ptr jpeg) {
  uint64_t deadline = failures_of(jpeg)->deadline;
  if (deadline == 0) return;
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  if ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec >= deadline) cjpeg_fail(jpeg, CJPEG_OUT_OF_TIME, "too slow");
}

static _Noreturn void fail_with_library_message(j_common_ptr jpeg, CJPEGStatus status) {
  char message[JMSG_LENGTH_MAX];
  Failures *failures = failures_of(jpeg);
  // Once the bytes have ended, that is the cause of every later error.
  if (failures->file_ended && status == CJPEG_UNDECODABLE) cjpeg_fail_as_truncated(jpeg);
  failures->manager.format_message(jpeg, message);
  cjpeg_fail(jpeg, status, message);
}

static void on_error(j_common_ptr jpeg) {
  int code = jpeg->err->msg_code;
  // JERR_NO_BACKING_STORE: more than `max_memory_to_use` would be needed.
  int memory = code == JERR_OUT_OF_MEMORY || code == JERR_NO_BACKING_STORE;
  fail_with_library_message(jpeg, memory ? CJPEG_OUT_OF_MEMORY : CJPEG_UNDECODABLE);
}

// Whether rows of blocks will have no data if the data of a scan ends now. A refining scan adds no rows, and after a restart marker
// data continues.
static int rows_are_missing(j_decompress_ptr jpeg) {
  int restarts = jpeg->unread_marker >= JPEG_RST0 && jpeg->unread_marker <= JPEG_RST0 + 7;
  int refines = jpeg->progressive_mode && (jpeg->Ss > 0 || jpeg->Ah > 0);
  return !restarts && !refines && jpeg->input_iMCU_row + 1 < jpeg->total_iMCU_rows;
}

// libjpeg fills missing data with grey and warns. Here missing rows are an error; invalid codes remain warnings, as in other
// decoders, since every block has some content.
static void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  Failures *failures = failures_of(jpeg);
  j_decompress_ptr decoder = jpeg->is_decompressor ? (j_decompress_ptr)jpeg : NULL;
  int code = failures->manager.msg_code;
  failures->manager.num_warnings++;
  if (code == JWRN_JPEG_EOF) {
    // All data may have arrived. If not, JWRN_HIT_MARKER follows as soon as a block has none; but the arithmetic decoder doesn't
    // report it, and reads a few bytes ahead.
    failures->file_ended = 1;
    if (decoder->arith_code && decoder->input_iMCU_row + 1 < decoder->total_iMCU_rows) cjpeg_fail_as_truncated(jpeg);
    return;
  }
  if (code == JWRN_HIT_MARKER && (failures->file_ended || rows_are_missing(decoder)))
    fail_with_library_message(jpeg, CJPEG_UNDECODABLE);
  char line[JMSG_LENGTH_MAX];
  failures->manager.format_message(jpeg, line);
  warn(failures, line);
}

struct jpeg_error_mgr *cjpeg_failures_begin(Failures *failures) {
  jpeg_std_error(&failures->manager);
  failures->manager.error_exit = on_error;
  failures->manager.emit_message = on_message;
  return &failures->manager;
}
