/* SPDX-License-Identifier: MIT */
/* How fast the processor's clock goes, as far as it can be read or measured. */
#ifndef KP_WORKER_MEASURE_CORE_H
#define KP_WORKER_MEASURE_CORE_H

/* Megahertz; 0: not known. */
struct measure_core {
	double cpufreq_mhz; /* what the kernel says of the CPU that this runs on */
	/*
	 * Measured: a chain of dependent additions of registers, of which every
	 * processor that kplug knows does one a cycle. Too low where another
	 * program had the processor meanwhile.
	 */
	double chain_mhz;
};

/* Takes a fraction of a millisecond. */
void measure_core_read(struct measure_core *core);

#endif
