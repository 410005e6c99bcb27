#ifndef CTIFF_H
#define CTIFF_H

#endif
