//go:build unix

package localpg

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

const maxLogSize = 8 << 20

// openLog opens the server's log for appending and returns its size so far. It first renames a log that has grown large.
func openLog(name string) (*os.File, int64, error) {
	if info, err := os.Stat(name); err == nil && info.Size() > maxLogSize {
		if err := os.Rename(name, name+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, 0, err
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	return f, size, err
}

// logSince returns at most the last 16 KB of what was written to the log after the offset.
func logSince(name string, offset int64) string {
	const most = 16 << 10
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	text = text[min(offset, int64(len(text))):]
	return string(text[max(0, len(text)-most):])
}

var (
	fatal     = regexp.MustCompile(`\b(PANIC|FATAL|error|fatal):`)
	timestamp = regexp.MustCompile(`^[-0-9]+ [.:0-9]+ \S+ \[[0-9]+\] `)
)

// usefulLines joins into one line the part of a log that says what went wrong: the last fatal line with the line before it, which
// often has the details, and those after it, which have the hint; without a fatal line, the last lines.
func usefulLines(log string) string {
	const most = 4
	lines := strings.Split(strings.TrimSpace(log), "\n")
	from := max(0, len(lines)-most)
	for i, line := range lines {
		if fatal.MatchString(line) {
			from = max(0, i-1)
		}
	}
	lines = lines[from:min(len(lines), from+most)]
	for i, line := range lines {
		lines[i] = strings.TrimSpace(timestamp.ReplaceAllString(line, ""))
	}
	return strings.Join(lines, "; ")
}
