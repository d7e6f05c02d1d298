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

var telling = regexp.MustCompile(`\b(PANIC|FATAL|ERROR|HINT|DETAIL|error|fatal|hint|detail):`)

// usefulLines picks the last lines of a log that tell what went wrong, or just the last ones, joined into one line.
func usefulLines(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	var telltale []string
	for _, line := range lines {
		if telling.MatchString(line) {
			telltale = append(telltale, line)
		}
	}
	if len(telltale) > 0 {
		lines = telltale
	}
	lines = lines[max(0, len(lines)-4):]
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "; ")
}
