#include "CLoading.h"

#include <dlfcn.h>
#include <stdio.h>

bool cloading_load(const char *library, const char *const *names, size_t count, void **functions, char error[CLOADING_ERROR_SIZE]) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    snprintf(error, CLOADING_ERROR_SIZE, "%s", dlerror());
    return false;
  }
  for (size_t index = 0; index < count; index++) {
    functions[index] = dlsym(handle, names[index]);
    if (functions[index] == NULL) {
      snprintf(error, CLOADING_ERROR_SIZE, "%s has no %s", library, names[index]);
      dlclose(handle);
      return false;
    }
  }
  return true;
}
