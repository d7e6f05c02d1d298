// Package subprocess starts child processes that do not outlive this one, not even when it is killed with kill -9.
//
// A child runs in a process group of its own, so that ^C on a terminal reaches this process alone, which then stops the
// child in order. On Linux the kernel signals the child when this process dies; elsewhere a small watcher does.
//
// A Process is safe for concurrent use.
package subprocess
