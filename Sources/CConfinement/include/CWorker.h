#ifndef CWORKER_H
#define CWORKER_H

// Processes that decode images apart: a template that never sees a file, and workers forked from it, which give up everything but their
// socket. Swift lacks fork, and the macros of messages with descriptors.

#ifdef __linux__

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Starts `program` with two arguments, in a session of its own, so that a terminal doesn't stop it, and without other environment than
// what the dynamic linker needs. Its standard input is a socket; the others are /dev/null. Returns the other end, or -1 with errno.
int worker_spawn(const char *program, const char *argument, pid_t *process);

// A connection that keeps the limits of messages.
bool worker_connect(int sockets[2]);

// Sends a message, with a descriptor unless it is -1.
bool worker_send(int socket, const void *bytes, size_t count, int descriptor);

// Receives a message of at most `room` bytes, and its descriptor or -1; without `descriptor` it accepts none. Returns its length, 0 at
// the end of the connection or for a longer message, and -1 with errno.
ssize_t worker_receive(int socket, void *bytes, size_t room, int *descriptor);

// A sealed file in memory with those bytes; without bytes, one of that fixed size that can be written. Returns -1 with errno.
int worker_file(const void *bytes, size_t count);

bool worker_write(int file, const void *bytes, size_t count);

// Forks a process that has `socket` as standard input and no other descriptor. Returns as fork(2).
pid_t worker_fork(int socket);

// Gives up everything but the descriptors and that many further bytes of memory, as far as the kernel can.
void worker_confine(size_t bytes);

// Ends a child of this process, and returns its status as waitpid(2), or -1 with errno.
int worker_end(pid_t process);

// The signal that ended a process of that status, such as SIGSEGV; NULL: none.
const char *worker_signal(int status, int *number);

#endif
#endif
