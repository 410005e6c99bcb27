/* Replaces a call of libjpeg by one that an attacker has taken over: a file with a comment "misbehave:WHAT:" or "misbehave:WHAT:PATH:" makes
   it do that, and is decoded as usual if it could.
     open, write  PATH                  execute, connect, fork, kill  as they say
     memory       allocates 64 GiB      crash, abort, exit, loop, hang      as they say
     once         crashes unless this process has decoded nothing else */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <jpeglib.h>
#include <jerror.h>

static int calls;

static int can(const char *what, const char *path) {
  if (!strcmp(what, "open")) return open(path, O_RDONLY) >= 0;
  if (!strcmp(what, "write")) return open(path, O_WRONLY | O_CREAT, 0600) >= 0;
  if (!strcmp(what, "connect")) return socket(AF_INET, SOCK_STREAM, 0) >= 0;
  if (!strcmp(what, "execute")) return execl("/bin/true", "true", NULL) >= 0;
  if (!strcmp(what, "kill")) return kill(getppid(), 0) == 0;
  if (!strcmp(what, "fork")) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    return child > 0 && waitpid(child, NULL, 0) == child;
  }
  if (!strcmp(what, "memory")) {
    for (int count = 0; count < 1024; count++) {
      void *volatile part = malloc(64 << 20);
      if (!part) return 0;
    }
    return 1;
  }
  volatile char *volatile nowhere = NULL;
  if (!strcmp(what, "crash")) *nowhere = 1;
  if (!strcmp(what, "abort")) abort();
  if (!strcmp(what, "exit")) _exit(7);
  if (!strcmp(what, "hang")) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    for (;;) pthread_mutex_lock(&lock);
  }
  if (!strcmp(what, "once") && calls > 1) *nowhere = 1;
  if (!strcmp(what, "loop")) for (volatile int one = 1; one;) {}
  return 1;
}

void jpeg_mem_src(j_decompress_ptr jpeg, const unsigned char *bytes, unsigned long count) {
  void (*real)(j_decompress_ptr, const unsigned char *, unsigned long);
  *(void **)&real = dlsym(RTLD_NEXT, "jpeg_mem_src");
  const char *start = memmem(bytes, count, "misbehave:", 10);
  char what[16], path[512] = "";
  calls++;
  if (start && sscanf(start, "misbehave:%15[^:]:%511[^:]:", what, path) > 0 && !can(what, path)) ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
  real(jpeg, bytes, count);
}
