#include "CTIFF.h"

#if __has_include(<tiffio.h>)

#include "library.h"

#include <CLoading.h>
#include <pthread.h>

CTIFFFunctions ctiff_functions;
static bool is_loaded;
static char error_message[CLOADING_ERROR_SIZE];

static void load(void) {
#define NAME(function) #function,
  static const char *const names[] = {CTIFF_FUNCTIONS(NAME)};
  is_loaded = cloading_load(CTIFF_LIBRARY, names, sizeof names / sizeof *names, (void **)&ctiff_functions, error_message);
}

bool ctiff_is_loaded(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return is_loaded;
}

const char *ctiff_error(void) {
  ctiff_is_loaded();
  return error_message;
}

#endif
