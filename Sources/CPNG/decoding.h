#ifndef CPNG_DECODING_H
#define CPNG_DECODING_H

#include "failures.h"

// Shared by both ways of reading.

// Before reading: sets the expected size as limit, and keeps no chunks but the picture's.
void cpng_restrict(png_structp png, CPNGExpectation expected);

// After the chunks before the picture: checks the size and converts rows to RGBA. Returns the number of passes over the picture.
int cpng_configure(png_structp png, png_infop info, CPNGExpectation expected);

void cpng_check_size(png_structp png, png_infop info, CPNGExpectation expected);

#endif
