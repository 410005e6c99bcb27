#ifndef CLOADING_H
#define CLOADING_H

// Libraries of rare formats and codings are loaded with the first image that needs them, so that others cost neither time nor memory.

#include "CCodec.h"

#include <stdbool.h>
#include <stddef.h>

#define CLOADING_ERROR_SIZE 256

// The file name of a library with that version of its binary interface.
#ifdef __APPLE__
#define CLOADING_FILE(name, version) "lib" name "." version ".dylib"
#else
#define CLOADING_FILE(name, version) "lib" name ".so." version
#endif

// Loads a library and the addresses of `count` of its functions. If it fails, `error` has the reason, and nothing stays loaded.
bool cloading_load(const char *library, const char *const *names, size_t count, void **functions, char error[CLOADING_ERROR_SIZE]);

// A function, and the name of the imported one that it replaces.
typedef struct {
  const char *name;
  void *function;
} CLoadingReplacement;

// Makes the loaded libraries whose file names start with `prefix` call other functions than those that they import. Only their own
// calls are redirected; if they can't be found, nothing changes.
void cloading_replace(const char *prefix, const CLoadingReplacement *replacements, size_t count);

// Suppresses what the loaded libraries whose file names start with `prefix` print to standard error through `fprintf` and
// `vfprintf`.
//
// Some decoders log every corrupt image there, with no setting against it: a program's log would be open to anyone who can send it
// images.
void cloading_silence(const char *prefix);

#endif
