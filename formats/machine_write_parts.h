/* What the files of the machine writer share; private to formats/machine_write*.c. */
#ifndef KVS_FORMATS_MACHINE_WRITE_PARTS_H
#define KVS_FORMATS_MACHINE_WRITE_PARTS_H

#include "base/text.h"

/* In double quotes, on one line. */
void kvs_machine_write_text(const char *text, struct kvs_text *out);
/* `24KiB`: whole, in the largest unit that divides it. */
void kvs_machine_write_bytes(double bytes, struct kvs_text *out);

#endif
