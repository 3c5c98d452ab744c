/* SPDX-License-Identifier: MIT */
/* Included before a kernel's source, the preprocessor tells the names of its kernels. */
#define KP_ON_CPU		    1
#define KP_KERNEL(name, type, most) KP_KERNEL_IS name
#define KP_KERNEL_WIDE		    KP_KERNEL
