// Package subprocess starts child processes that end when this process ends, even if it is killed
// with kill -9.
//
// A child runs in a process group of its own, so that ^C on a terminal reaches only this process,
// which can then stop the child in an orderly way. When this process dies, the kernel signals the
// child on Linux (PR_SET_PDEATHSIG); elsewhere a small shell does.
//
// A Process is safe for concurrent use.
package subprocess
