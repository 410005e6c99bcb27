#ifndef CLOADING_H
#define CLOADING_H

// Libraries of rare formats are loaded with the first image that needs them, so that others cost neither time nor memory.

#include <stdbool.h>
#include <stddef.h>

#define CLOADING_ERROR_SIZE 256

// Loads a library and the addresses of `count` of its functions. If it fails, `error` has the reason, and nothing stays loaded.
bool cloading_load(const char *library, const char *const *names, size_t count, void **functions, char error[CLOADING_ERROR_SIZE]);

#endif
