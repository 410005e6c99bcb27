#define _GNU_SOURCE
#include "CLoading.h"

#include <stdarg.h>
#include <stdio.h>

// Other C libraries and processors have other tables.
#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define CALL R_X86_64_JUMP_SLOT
#define ADDRESS R_X86_64_GLOB_DAT
#else
#define CALL R_AARCH64_JUMP_SLOT
#define ADDRESS R_AARCH64_GLOB_DAT
#endif

static uintptr_t page_start(uintptr_t address) { return address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1); }

typedef struct {
  const char *prefix;
  const CLoadingReplacement *all;
  size_t count;
} Replacements;

// A library's table of the functions that it imports.
typedef struct {
  uintptr_t base;
  const char *names;
  const ElfW(Sym) *symbols;
  // The pages that the dynamic linker has made read-only (RELRO).
  uintptr_t read_only_start, read_only_end;
} Imports;

static void replace(const Imports *imports, void **slot, void *function) {
  uintptr_t page = page_start((uintptr_t)slot);
  size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  bool is_read_only = page >= imports->read_only_start && page < imports->read_only_end;
  if (is_read_only && mprotect((void *)page, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot, function, __ATOMIC_RELEASE);
  if (is_read_only) mprotect((void *)page, page_bytes, PROT_READ);
}

static void replace_listed(const Imports *imports, const ElfW(Rela) *relocations, size_t bytes, const Replacements *wanted) {
  if (relocations == NULL) return;
  for (size_t index = 0; index < bytes / sizeof *relocations; index++) {
    const ElfW(Rela) *relocation = &relocations[index];
    unsigned long type = ELF64_R_TYPE(relocation->r_info);
    if (type != CALL && type != ADDRESS) continue;
    const char *name = imports->names + imports->symbols[ELF64_R_SYM(relocation->r_info)].st_name;
    void **slot = (void **)(imports->base + relocation->r_offset);
    for (size_t number = 0; number < wanted->count; number++) {
      if (strcmp(name, wanted->all[number].name) == 0) replace(imports, slot, wanted->all[number].function);
    }
  }
}

// glibc replaces offsets in the dynamic section by addresses, unless the section is read-only.
static const void *address(uintptr_t base, ElfW(Addr) value) { return (const void *)(value < base ? base + value : value); }

static void replace_in(const struct dl_phdr_info *library, const Replacements *wanted) {
  Imports imports = {.base = library->dlpi_addr};
  const ElfW(Dyn) *entry = NULL;
  for (size_t index = 0; index < library->dlpi_phnum; index++) {
    const ElfW(Phdr) *header = &library->dlpi_phdr[index];
    uintptr_t start = imports.base + header->p_vaddr;
    if (header->p_type == PT_DYNAMIC) entry = (const ElfW(Dyn) *)start;
    if (header->p_type == PT_GNU_RELRO) {
      imports.read_only_start = page_start(start);
      imports.read_only_end = page_start(start + header->p_memsz);
    }
  }
  if (entry == NULL) return;
  const ElfW(Rela) *calls = NULL, *others = NULL;
  size_t call_bytes = 0, other_bytes = 0;
  for (; entry->d_tag != DT_NULL; entry++) {
    switch (entry->d_tag) {
      case DT_STRTAB: imports.names = address(imports.base, entry->d_un.d_ptr); break;
      case DT_SYMTAB: imports.symbols = address(imports.base, entry->d_un.d_ptr); break;
      case DT_JMPREL: calls = address(imports.base, entry->d_un.d_ptr); break;
      case DT_PLTRELSZ: call_bytes = entry->d_un.d_val; break;
      case DT_RELA: others = address(imports.base, entry->d_un.d_ptr); break;
      case DT_RELASZ: other_bytes = entry->d_un.d_val; break;
    }
  }
  if (imports.names == NULL || imports.symbols == NULL) return;
  replace_listed(&imports, calls, call_bytes, wanted);
  replace_listed(&imports, others, other_bytes, wanted);
}

static int replace_if_named(struct dl_phdr_info *library, size_t size, void *context) {
  (void)size;
  const Replacements *wanted = context;
  const char *slash = strrchr(library->dlpi_name, '/');
  const char *file = slash == NULL ? library->dlpi_name : slash + 1;
  if (strncmp(file, wanted->prefix, strlen(wanted->prefix)) == 0) replace_in(library, wanted);
  return 0;
}

void cloading_replace(const char *prefix, const CLoadingReplacement *replacements, size_t count) {
  Replacements wanted = {.prefix = prefix, .all = replacements, .count = count};
  dl_iterate_phdr(replace_if_named, &wanted);
}

#else

void cloading_replace(const char *prefix, const CLoadingReplacement *replacements, size_t count) {
  (void)prefix, (void)replacements, (void)count;
}

#endif

static int print(FILE *file, const char *format, va_list arguments) {
  return file == stderr ? 0 : vfprintf(file, format, arguments);
}

// What compilers call instead of `vfprintf` with _FORTIFY_SOURCE.
static int print_checked(FILE *file, int flag, const char *format, va_list arguments) {
  (void)flag;
  return print(file, format, arguments);
}

static int print_all(FILE *file, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int count = print(file, format, arguments);
  va_end(arguments);
  return count;
}

static int print_all_checked(FILE *file, int flag, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int count = print_checked(file, flag, format, arguments);
  va_end(arguments);
  return count;
}

void cloading_silence(const char *prefix) {
  const CLoadingReplacement replacements[] = {
      {"vfprintf", (void *)print}, {"__vfprintf_chk", (void *)print_checked},
      {"fprintf", (void *)print_all}, {"__fprintf_chk", (void *)print_all_checked},
  };
  cloading_replace(prefix, replacements, sizeof replacements / sizeof *replacements);
}
