#include "CJXL.h"

#if __has_include(<jxl/decode.h>)

#include <CLoading.h>
#include <pthread.h>
#include <stdio.h>

// The binary interface may change with each 0.x.
#define TEXT(number) #number
#define VERSION(major, minor) TEXT(major) "." TEXT(minor)
#define LIBRARY CLOADING_FILE("jxl", VERSION(JPEGXL_MAJOR_VERSION, JPEGXL_MINOR_VERSION))

// Makes the loaded library's allocations count against the limit of the decoder that is working on the thread.
void cjxl_count_memory(const char *library);

static CJXLFunctions functions;
static bool is_loaded;
static char error_message[CLOADING_ERROR_SIZE];

static void load(void) {
#define NAME(name, function) #function,
  static const char *const names[] = {CJXL_FUNCTIONS(NAME)};
  if (!cloading_load(LIBRARY, names, sizeof names / sizeof *names, (void **)&functions, error_message)) return;
  // Major * 1,000,000 + minor * 1,000 + patch.
  unsigned version = functions.version();
  is_loaded = version / 1000 == JPEGXL_MAJOR_VERSION * 1000u + JPEGXL_MINOR_VERSION;
  if (is_loaded) {
    // Debian's libjxl 0.7 prints messages about each corrupt image, and has no setting against them.
    cloading_silence(LIBRARY);
    cjxl_count_memory(LIBRARY);
    return;
  }
  snprintf(error_message, sizeof error_message, LIBRARY " has version %u.%u, but %d.%d is required", version / 1000000,
           version / 1000 % 1000, JPEGXL_MAJOR_VERSION, JPEGXL_MINOR_VERSION);
}

static void load_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
}

const CJXLFunctions *cjxl_functions(void) {
  load_once();
  return is_loaded ? &functions : NULL;
}

const char *cjxl_error(void) {
  load_once();
  return error_message;
}

const char *cjxl_package(void) { return "libjxl" VERSION(JPEGXL_MAJOR_VERSION, JPEGXL_MINOR_VERSION); }

#endif
