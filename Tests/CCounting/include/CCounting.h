// What counts instructions: requests to valgrind's tool callgrind, which do nothing where that does not run.
#ifndef PREWARM_COUNTING_H
#define PREWARM_COUNTING_H

// Begins to count the instructions of the calling thread, and of no other.
void counting_begin(void);

// Ends it, and has callgrind write a file of what was counted, under `name`.
void counting_end(const char *name);

// fork(2), which Swift does not offer: 0 in the child, whose heap is as fresh as the parent's.
int counting_fork(void);

// Waits for a child to end; 0 where it ended well.
int counting_wait(int child);

#endif
