//go:build unix && !linux

package localpg

// roomyMemory returns nothing: there is no file system in memory that is known to be there.
func roomyMemory() []string { return nil }
