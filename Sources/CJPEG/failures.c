#include "failures.h"

_Noreturn void cjpeg_fail(j_common_ptr jpeg, CCodecStatus status, const char *message) {
  Failures *failures = failures_of(jpeg);
  failures->status = status;
  snprintf(failures->report.message, CCODEC_MESSAGE_BYTES, "%s", message);
  longjmp(failures->escape, 1);
}

// Whether the current scan is the first one with data for all of the picture's blocks; later ones add detail or colour.
static int is_first_scan(j_decompress_ptr jpeg) {
  return jpeg->cur_comp_info[0] != NULL && jpeg->cur_comp_info[0]->component_index == 0 &&
         (!jpeg->progressive_mode || (jpeg->Ss == 0 && jpeg->Ah == 0));
}

_Noreturn void cjpeg_fail_as_incomplete(j_decompress_ptr jpeg) {
  const char *cause = failures_of((j_common_ptr)jpeg)->file_ended ? "the JPEG is cut off" : "the JPEG's data ends early";
  char message[CCODEC_MESSAGE_BYTES];
  if (jpeg->total_iMCU_rows == 0 || jpeg->input_scan_number == 0) {
    snprintf(message, sizeof message, "%s before its first pixel", cause);
  } else if (is_first_scan(jpeg) && jpeg->input_iMCU_row < jpeg->total_iMCU_rows) {
    // The row of blocks that it ends in counts as missing.
    unsigned rows = jpeg->total_iMCU_rows - jpeg->input_iMCU_row;
    unsigned percent = (unsigned)(((uint64_t)rows * 100 + jpeg->total_iMCU_rows - 1) / jpeg->total_iMCU_rows);
    snprintf(message, sizeof message, "%s: up to %u %% of its pixels are missing", cause, percent);
  } else {
    snprintf(message, sizeof message, "%s at scan %d: its pixels lack detail or colour", cause, jpeg->input_scan_number);
  }
  cjpeg_fail((j_common_ptr)jpeg, CCODEC_UNDECODABLE, message);
}

void cjpeg_warn_if_file_ended(j_decompress_ptr jpeg) {
  Failures *failures = failures_of((j_common_ptr)jpeg);
  if (!failures->file_ended) return;
  // The arithmetic decoder doesn't report missing data of the last rows.
  ccodec_warn(&failures->report, jpeg->arith_code ? "the JPEG lacks its end marker" : "the JPEG lacks its end marker; no pixels are missing");
}

void cjpeg_fail_if_late(j_common_ptr jpeg) {
  if (ccodec_is_late(failures_of(jpeg)->deadline)) cjpeg_fail(jpeg, CCODEC_OUT_OF_TIME, "too slow");
}

static _Noreturn void fail_with_library_message(j_common_ptr jpeg, CCodecStatus status) {
  char message[JMSG_LENGTH_MAX];
  Failures *failures = failures_of(jpeg);
  // Once the bytes have ended, that is the cause of every later error.
  if (failures->file_ended && jpeg->is_decompressor && status == CCODEC_UNDECODABLE) cjpeg_fail_as_incomplete((j_decompress_ptr)jpeg);
  failures->manager.format_message(jpeg, message);
  cjpeg_fail(jpeg, status, message);
}

static void on_error(j_common_ptr jpeg) {
  int code = jpeg->err->msg_code;
  // JERR_NO_BACKING_STORE: more than `max_memory_to_use` would be needed.
  int memory = code == JERR_OUT_OF_MEMORY || code == JERR_NO_BACKING_STORE;
  fail_with_library_message(jpeg, memory ? CCODEC_OUT_OF_MEMORY : CCODEC_UNDECODABLE);
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
    if (decoder->arith_code && decoder->input_iMCU_row + 1 < decoder->total_iMCU_rows) cjpeg_fail_as_incomplete(decoder);
    return;
  }
  if (code == JWRN_HIT_MARKER && (failures->file_ended || rows_are_missing(decoder))) cjpeg_fail_as_incomplete(decoder);
  char line[JMSG_LENGTH_MAX];
  failures->manager.format_message(jpeg, line);
  ccodec_warn(&failures->report, line);
}

struct jpeg_error_mgr *cjpeg_failures_begin(Failures *failures) {
  jpeg_std_error(&failures->manager);
  failures->manager.error_exit = on_error;
  failures->manager.emit_message = on_message;
  return &failures->manager;
}
