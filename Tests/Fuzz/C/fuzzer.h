#pragma once
#include <stddef.h>
#include <stdint.h>

// libFuzzer as a function, from the library that comes with the compiler. Only `make fuzz` links it.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test)(const uint8_t *data, size_t size));
