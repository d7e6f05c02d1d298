//go:build unix

package localpg

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"petstore.example/internal/ownfiles"
)

const maxLogSize = 8 << 20

// logName is the server's log, in the server's directory.
const logName = "postgres.log"

// openLog opens the server's log in the directory for appending, as a file of that user, and returns its size so far. It first renames a log
// that has grown large. It follows no link out of the directory.
func openLog(dir string, u osUser) (*os.File, int64, error) {
	root, err := ownfiles.OpenDir(dir)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	switch info, err := root.Lstat(logName); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a regular file", filepath.Join(dir, logName))
	case info.Size() > maxLogSize:
		if err := root.Rename(logName, logName+".old"); err != nil {
			return nil, 0, err
		}
	}
	f, err := root.OpenFile(logName, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, 0, err
	}
	if u.switches {
		err = f.Chown(u.uid, u.gid)
	}
	size, seekErr := f.Seek(0, io.SeekEnd)
	if err := errors.Join(err, seekErr); err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, size, nil
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
