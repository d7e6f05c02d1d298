package clients_test

import (
	"bufio"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// TestImportsDuringRestart: TypeScript, and in make soak Python too, with 10,000 rows each, imports
// through nginx while one server after the other is restarted. No row is lost, and none is added
// twice. internal/e2e/running has the same with Go.
func TestImportsDuringRestart(t *testing.T) {
	t.Parallel()
	least, tried := 200, languages[1:2]
	if variants() {
		least, tried = 10_000, languages[1:]
	}
	database, redis := storetest.New(t), redistest.New(t).URL
	var servers [2]*programs.Server
	addresses := []string{freeport.Address(t), freeport.Address(t)}
	start := func(i int) {
		servers[i] = programs.Serve(t, programs.Path(t, "petstore"), "PETSTORE_DATABASE_URL="+database.APIURL,
			"PETSTORE_REDIS_URL="+redis, "PETSTORE_ADDR="+addresses[i])
	}
	start(0)
	start(1)
	url := "http://" + startNginx(t, addresses...) + "/v1"
	staff := storetest.Open(t, database.URL, store.Options{})
	var restarted atomic.Bool
	told := make([]atomic.Int64, len(tried))
	var all sync.WaitGroup
	for i, language := range tried {
		key := storetest.IssueKey(t, staff, unlimited(language))
		all.Go(func() {
			more := func(n int) bool { return n <= least || !restarted.Load() }
			checkAnimals(t, url, key, importWhile(t, language, url, key, more, &told[i]))
		})
	}
	for i := range told {
		wait.Until(t, tried[i]+" has begun", func() bool { return told[i].Load() > 50 })
	}
	for i := range servers {
		assert.Equal(t, servers[i].Stop(syscall.SIGTERM), 0, "exit code")
		start(i)
	}
	for i := range told {
		t.Logf("%s: %d rows before both servers had been restarted", tried[i], told[i].Load())
	}
	restarted.Store(true)
	all.Wait()
}

// importWhile runs the importer of a language while there are more rows, counts those that it was
// told of, and returns how many there were. At most 32 wait for the importer.
func importWhile(
	t *testing.T, language, url, key string, more func(n int) bool, told *atomic.Int64,
) (rows int) {
	t.Helper()
	cmd := importers[language](t, "animals.csv")
	cmd.Env = append(cmd.Env, "PETSTORE_URL="+url, "PETSTORE_API_KEY="+key)
	var trouble strings.Builder
	cmd.Stderr = &trouble
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	assert.NoError(t, inErr)
	assert.NoError(t, outErr)
	assert.NoError(t, cmd.Start())
	unread := make(chan struct{}, 32)
	ended := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		defer in.Close()
		for more(rows + 1) {
			select {
			case unread <- struct{}{}:
			case <-ended:
				return
			}
			rows++
			_, _ = fmt.Fprintf(in, "Rex %d\n", rows) // If the importer has ended, its exit code says so.
		}
	})
	replayed := 0
	for said := bufio.NewScanner(out); said.Scan(); told.Add(1) {
		if strings.Contains(said.Text(), " replayed ") {
			replayed++
		}
		<-unread
	}
	close(ended)
	writing.Wait()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v\n%s", language, err, trouble.String())
	}
	t.Logf("%s: %d rows, %d answers were lost and had again", language, rows, replayed)
	assert.Equal(t, told.Load(), int64(rows), language, "rows of which the importer has told")
	return rows
}
