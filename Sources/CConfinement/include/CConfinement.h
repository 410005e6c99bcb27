#ifndef CCONFINEMENT_H
#define CCONFINEMENT_H

// What a process gives up for good, by Landlock and seccomp (man 7 landlock, man 2 seccomp).

#include <seccomp.h>
#include <stdbool.h>

// Whether the kernel filters system calls.
bool confinement_has_seccomp(void);

#endif
