#pragma once
#include <sys/pidfd.h>
