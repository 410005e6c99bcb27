#ifndef CCONFINEMENT_H
#define CCONFINEMENT_H

// What a process gives up for good, by Landlock and seccomp (man 7 landlock, man 2 seccomp).

#include "CWorker.h"

#include <stdbool.h>
#include <stddef.h>

// What remains allowed for a file, or for all files below a folder.
enum confinement_use {
  // Files are read, and folders listed.
  CONFINEMENT_READ = 1,
  // Files are also written in place, and cut.
  CONFINEMENT_WRITE = 2,
  // Files get names, and lose them; they needn't be readable.
  CONFINEMENT_NAME = 4,
  // Folders are made, and files move between them.
  CONFINEMENT_ARRANGE = 8,
  // Empty folders are removed.
  CONFINEMENT_REMOVE_FOLDER = 16,
};

struct confinement_path {
  const char *path;
  int uses;
};

// The version of the kernel's Landlock; 0 if it has none, if the system disables it, or if it is too old to be useful.
int confinement_landlock_version(void);

// Limits the calling thread, and those that it starts, to the uses of these paths; those that don't exist count for nothing. Also forbids
// to accept TCP connections, and signals and abstract sockets to processes elsewhere, if the kernel can. Returns 0 or an error number.
int confinement_limit_files(const struct confinement_path *paths, size_t count);

// Forbids system calls that prewarm doesn't need, to all threads. `local_sockets`: sockets to processes of this machine stay allowed.
// Returns 0 or an error number.
int confinement_limit_calls(bool local_sockets);

// Tries both in a child process, for a process with one thread.
void confinement_try(bool *files, bool *calls);

#endif
