package main

import (
	"archive/zip"
	"bytes"
	"os"
	"testing"
	"time"
)

// archive makes a zip file with one file, which has that time.
func archive(t *testing.T, text string, at time.Time) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "a.go", Modified: at})
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAdd: a file that is there stays if its content is the same, and is replaced unless it was
// released.
func TestAdd(t *testing.T) {
	t.Chdir(t.TempDir())
	first, later := archive(t, "1", time.Unix(1e9, 0)), archive(t, "1", time.Unix(2e9, 0))
	other := archive(t, "2", time.Unix(1e9, 0))
	const name = "p-1.0.0-py3-none-any.whl"
	was := map[string]bool{released + "/" + name: true}
	for i, step := range []struct {
		body, want []byte
		before     map[string]bool
		refused    bool
	}{
		{first, first, nil, false}, {later, first, was, false}, {other, first, was, true}, {other, other, nil, false},
	} {
		err := file{name, step.body}.add(step.before)
		got, failed := os.ReadFile(released + "/" + name)
		if (err != nil) != step.refused || failed != nil || !bytes.Equal(got, step.want) {
			t.Errorf("step %d: %v, %v, %d bytes", i, err, failed, len(got))
		}
	}
}
