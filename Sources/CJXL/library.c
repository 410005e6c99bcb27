#define _GNU_SOURCE
#include "CJXL.h"

#if __has_include(<jxl/decode.h>)

#include <CLoading.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The binary interface may change with each 0.x.
#define TEXT(number) #number
#define VERSION(major, minor) TEXT(major) "." TEXT(minor)
#define LIBRARY "libjxl.so." VERSION(JPEGXL_MAJOR_VERSION, JPEGXL_MINOR_VERSION)

static CJXLFunctions functions;
static bool is_loaded;
static char error_message[CLOADING_ERROR_SIZE];

static int print_nothing(FILE *file, int flag, const char *format, va_list arguments) {
  (void)file, (void)flag, (void)format, (void)arguments;
  return 0;
}

// Replaces a function in the table through which a library calls others, which the linker may have made read-only.
static void replace(const struct link_map *library, const char *name, void *function) {
  const char *names = NULL;
  const ElfW(Sym) *symbols = NULL;
  const ElfW(Rela) *calls = NULL;
  size_t call_bytes = 0;
  for (const ElfW(Dyn) *entry = library->l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_STRTAB) names = (const char *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_JMPREL) calls = (const ElfW(Rela) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_PLTRELSZ) call_bytes = entry->d_un.d_val;
  }
  if (names == NULL || symbols == NULL || calls == NULL) return;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (size_t index = 0; index < call_bytes / sizeof *calls; index++) {
    if (strcmp(names + symbols[ELF64_R_SYM(calls[index].r_info)].st_name, name) != 0) continue;
    void **slot = (void **)(library->l_addr + calls[index].r_offset);
    if (mprotect((void *)((uintptr_t)slot & ~(page - 1)), page, PROT_READ | PROT_WRITE) == 0) *slot = function;
  }
}

// Debian's libjxl 0.7 is built with messages on standard error for each corrupt image, and without a setting against them.
static void silence(void) {
#if defined(__x86_64__) || defined(__aarch64__)
  void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  struct link_map *library = NULL;
  if (handle == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &library) != 0) return;
  replace(library, "__vfprintf_chk", (void *)print_nothing);
  dlclose(handle);
#endif
}

static void load(void) {
#define NAME(name, function) #function,
  static const char *const names[] = {CJXL_FUNCTIONS(NAME)};
  if (!cloading_load(LIBRARY, names, sizeof names / sizeof *names, (void **)&functions, error_message)) return;
  // Major * 1,000,000 + minor * 1,000 + patch.
  unsigned version = functions.version();
  is_loaded = version / 1000 == JPEGXL_MAJOR_VERSION * 1000u + JPEGXL_MINOR_VERSION;
  if (is_loaded) {
    silence();
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
