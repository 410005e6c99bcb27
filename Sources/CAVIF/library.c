#include "CAVIF.h"

#if __has_include(<avif/avif.h>)

#include <CLoading.h>
#include <pthread.h>
#include <stdio.h>

static CAVIFFunctions functions;
static bool is_loaded;
static char error_message[CLOADING_ERROR_SIZE];

// Structures may gain members in each 0.x, and at their end in each 1.x.
static bool fits(const char *version) {
  int major = -1, minor = -1;
  if (sscanf(version, "%d.%d", &major, &minor) != 2 || major != AVIF_VERSION_MAJOR) return false;
  return major == 0 ? minor == AVIF_VERSION_MINOR : minor >= AVIF_VERSION_MINOR;
}

static void load(void) {
#define NAME(name, function) #function,
  static const char *const names[] = {CAVIF_FUNCTIONS(NAME)};
  if (!cloading_load(CAVIF_LIBRARY, names, sizeof names / sizeof *names, (void **)&functions, error_message)) return;
  is_loaded = fits(functions.version());
  if (is_loaded) {
    // dav1d, the usual decoder behind libavif, prints messages about corrupt images, and libavif hides its setting against them.
    cloading_silence("libdav1d.so.");
    return;
  }
  snprintf(error_message, sizeof error_message, CAVIF_LIBRARY " has version %s, but %d.%d is required", functions.version(),
           AVIF_VERSION_MAJOR, AVIF_VERSION_MINOR);
}

static void load_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
}

const CAVIFFunctions *cavif_functions(void) {
  load_once();
  return is_loaded ? &functions : NULL;
}

const char *cavif_error(void) {
  load_once();
  return error_message;
}

#endif
