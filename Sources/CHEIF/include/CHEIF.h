#ifndef CHEIF_H
#define CHEIF_H

#endif
