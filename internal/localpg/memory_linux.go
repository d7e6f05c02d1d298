package localpg

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// memoryRoom is how much must be free, of the file system and of the machine's memory. The tests that run at the same time take less than
// half of it.
const memoryRoom = 4 << 30

// roomyMemory returns the file system in memory, if it has much room.
func roomyMemory() []string {
	const dir = "/dev/shm"
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC || fs.Bavail*uint64(fs.Bsize) < memoryRoom {
		return nil
	}
	if availableMemory() < memoryRoom {
		return nil
	}
	return []string{dir}
}

// availableMemory is what programs can still get, in bytes; 0 if the kernel does not say.
func availableMemory() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kilobytes uint64
	_, line, _ := strings.Cut(string(text), "\nMemAvailable:")
	if _, err := fmt.Sscanf(line, "%d kB", &kilobytes); err != nil {
		return 0
	}
	return kilobytes << 10
}
