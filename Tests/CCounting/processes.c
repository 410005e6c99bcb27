#include "CCounting.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

int counting_fork(void) { return fork(); }

int counting_wait(int child) {
  int status;
  while (waitpid(child, &status, 0) == -1)
    if (errno != EINTR) return -1;
  return status;
}
