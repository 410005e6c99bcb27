#include "failures.h"

#include <stdio.h>
#include <string.h>

_Noreturn void cpng_fail(png_structp png, CCodecStatus status, const char *message) {
  Failures *failures = png_get_error_ptr(png);
  failures->status = status;
  snprintf(failures->report.message, CCODEC_MESSAGE_BYTES, "%s", message);
  png_longjmp(png, 1);
}

void cpng_on_error(png_structp png, png_const_charp message) {
  cpng_fail(png, strcmp(message, "Out of memory") == 0 ? CCODEC_OUT_OF_MEMORY : CCODEC_UNDECODABLE, message);
}

void cpng_on_warning(png_structp png, png_const_charp message) {
  ccodec_warn(&((Failures *)png_get_error_ptr(png))->report, message);
}

void cpng_fail_if_late(png_structp png) {
  if (ccodec_is_late(((Failures *)png_get_error_ptr(png))->deadline)) cpng_fail(png, CCODEC_OUT_OF_TIME, "too slow");
}
