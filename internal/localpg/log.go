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

const maxLog = 8 << 20

// openLog opens the server's log to append to it and returns its size so far. A log that has grown large is put aside.
func openLog(name string) (*os.File, int64, error) {
	if info, err := os.Stat(name); err == nil && info.Size() > maxLog {
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

// logSince returns what was written to the log after the offset, or the last part of that.
func logSince(name string, offset int64) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 16 << 10
	if info, err := f.Stat(); err == nil && info.Size()-offset > most {
		offset = info.Size() - most
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, offset, most))
	return string(text)
}

var (
	fatal = regexp.MustCompile(`\b(PANIC|FATAL|error|fatal):`)
	stamp = regexp.MustCompile(`^[-0-9]+ [.:0-9]+ \S+ \[[0-9]+\] `)
)

// usefulLines picks the lines of a log that tell what went wrong, and joins them into one: the last fatal one with the line
// before it, which often has the particulars, and those after it, which have the hint; or just the last ones.
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
		lines[i] = strings.TrimSpace(stamp.ReplaceAllString(line, ""))
	}
	return strings.Join(lines, "; ")
}
