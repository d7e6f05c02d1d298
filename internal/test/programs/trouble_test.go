package programs

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestTroubleOf: lines count for their kind, whatever else they say, and those of no server for
// nothing.
func TestTroubleOf(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for i := range 9 {
		fmt.Fprintf(
			&log,
			`{"level":"error","time":%q,"message":"request","code":"unavailable","request_id":"r%d"}`+"\n",
			at.Format(time.RFC3339Nano),
			i,
		)
		at = at.Add(100 * time.Millisecond)
	}
	log.WriteString(
		`{"level":"warn","time":"2026-11-22T12:00:01Z","message":"clock"}` + "\n" + `a panic of "level":"error"` +
			"\n" + `{"level":"info"}` + "\n" +
			`{"level":"error","ts":1795379764.1,"msg":"of a proxy"}` + "\n",
	)
	all := troubleOf(log.String())
	of := all[kindOfTrouble{Level: "error", Message: "request", Code: "unavailable"}]
	if len(all) != 2 || of == nil || of.count != 9 || of.last.Sub(of.first) != 800*time.Millisecond || of.setBack {
		t.Errorf("%d kinds, of requests %+v", len(all), of)
	}
}
