#ifndef CJXL_H
#define CJXL_H

#endif
