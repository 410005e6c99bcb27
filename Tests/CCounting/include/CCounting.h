// Counts instructions by requests to valgrind's tool callgrind, which do nothing without it.
#ifndef PREWARM_COUNTING_H
#define PREWARM_COUNTING_H

// Starts counting the instructions of the calling thread only.
void counting_begin(void);

// Stops counting and lets callgrind write the counts to a file called `name`.
void counting_end(const char *name);

// fork(2), which Swift doesn't provide: 0 in the child, whose heap is a copy of the parent's.
int counting_fork(void);

// Waits for a child to end; 0 if it succeeded.
int counting_wait(int child);

#endif
