#ifndef CJPEG_DECODING_H
#define CJPEG_DECODING_H

#include "failures.h"

// What both ways of reading do alike.

// After jpeg_read_header: compares with what is expected, and chooses the colours and the size of the pixels.
void cjpeg_configure(j_decompress_ptr jpeg, CJPEGExpectation expected);

// Fails where a scan has begun that is one too many.
void cjpeg_check_scan(j_decompress_ptr jpeg, unsigned maximum_scans);

// Reads one row, RGBA; 0 where it has not arrived yet.
int cjpeg_read_row(j_decompress_ptr jpeg, uint8_t *row);

// Rows between two looks at the clock.
enum { ROWS_PER_LOOK = 64 };

#endif
