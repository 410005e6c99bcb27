#ifndef CJPEG_DECODING_H
#define CJPEG_DECODING_H

#include "failures.h"

// Shared by both ways of reading.

// After jpeg_read_header: compares with the expectation, and sets the colours and size of the pixels.
void cjpeg_configure(j_decompress_ptr jpeg, CJPEGExpectation expected);

// Fails if the current scan exceeds the limit.
void cjpeg_check_scan(j_decompress_ptr jpeg, unsigned maximum_scans);

// Reads one row, RGBA; returns 0 if it hasn't arrived yet.
int cjpeg_read_row(j_decompress_ptr jpeg, uint8_t *row);

// The number of rows between checks of the deadline.
enum { ROWS_PER_CHECK = 64 };

#endif
